//! One SQLite connection: read-only, and interrupted at the bound of the work it does.
//!
//! SQLite has no statement timeout, and the thread of an abandoned statement would run on for as long as it likes. So
//! every connection has a progress handler that compares the clock with a bound, and waits for locks in short slices:
//! nothing it does lasts longer than its bound plus one slice, whoever has stopped waiting.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use credgate_provider::NodeId;
use futures::{FutureExt, TryStreamExt, future::BoxFuture};
use sqlx::{
    ConnectOptions, Connection as _, Decode, Row, SqlStr, Sqlite, SqliteConnection, TypeInfo, ValueRef,
    sqlite::{SqliteConnectOptions, SqliteRow},
};
use tokio::time;
use zeroize::Zeroizing;

use super::{fault::Fault, query::Query};
use crate::{
    record::{Cell, Matches, Record},
    task::Bound,
};

/// How to reach the database.
#[derive(Debug)]
pub(crate) struct Access {
    options: SqliteConnectOptions,
    /// How long one attempt waits for a lock.
    slice: Duration,
}

/// A connection whose statements end at a bound.
pub(crate) struct Connection {
    inner: SqliteConnection,
    interrupt: Interrupt,
    access: Arc<Access>,
}

/// The point in time after which the connection's thread stops what it does.
#[derive(Clone)]
struct Interrupt {
    start: Instant,
    /// Milliseconds after `start`.
    at: Arc<AtomicU64>,
}

/// SQLite's virtual machine runs some 50 of its instructions per microsecond (measured with a recursive query), so the
/// clock is read every 20 µs or so, and not at all in a lookup by primary key.
const INSTRUCTIONS_PER_LOOK: i32 = 1000;
/// The longest wait for a lock in one piece; the bound may pass by this much while a slot is held.
const LONGEST_SLICE: Duration = Duration::from_millis(100);
/// Between two attempts: some kinds of "locked" are answered at once.
const PAUSE: Duration = Duration::from_millis(5);

impl Access {
    /// A tenth of `lookup.timeout` per wait for a lock, and 100 ms at most.
    pub(crate) fn new(path: &Path, lookup_timeout: Duration) -> Self {
        let slice = (lookup_timeout / 10).clamp(Duration::from_millis(1), LONGEST_SLICE);
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(slice)
            // Rows are looked at one by one; two of them are enough to know.
            .row_buffer_size(2)
            .thread_name(|number| format!("sqlite-{number}"))
            .disable_statement_logging();
        Self { options, slice }
    }

    pub(crate) fn path(&self) -> &Path {
        self.options.get_filename()
    }
}

impl Connection {
    pub(crate) async fn open(access: &Arc<Access>) -> Result<Self, Fault> {
        Self::connect(access).await.map_err(|error| Fault::of(&error, access.path()))
    }

    async fn connect(access: &Arc<Access>) -> Result<Self, sqlx::Error> {
        let mut inner = access.options.connect().await?;
        let interrupt = Interrupt { start: Instant::now(), at: Arc::new(AtomicU64::new(u64::MAX)) };
        let watch = interrupt.clone();
        inner.lock_handle().await?.set_progress_handler(INSTRUCTIONS_PER_LOOK, move || !watch.is_due());
        Ok(Self { inner, interrupt, access: Arc::clone(access) })
    }

    /// Runs `statement`, again and again while the database is locked, until the bound.
    pub(crate) async fn run<T>(
        &mut self,
        bound: Bound,
        mut statement: impl for<'c> FnMut(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, sqlx::Error>>,
    ) -> Result<T, Fault> {
        self.interrupt.set(bound.work);
        loop {
            let fault = match statement(&mut self.inner).await {
                Ok(value) => return Ok(value),
                Err(error) => Fault::of(&error, self.access.path()),
            };
            // A last attempt must not outlast the bound: the caller is to hear who held the lock.
            let last = time::Instant::now() + self.access.slice + PAUSE >= bound.work;
            if last || !matches!(fault, Fault::Locked(_)) {
                return Err(fault);
            }
            time::sleep(PAUSE).await;
        }
    }

    /// `delete`, `wal`, …
    pub(crate) async fn journal_mode(&mut self, bound: Bound) -> Result<String, Fault> {
        self.run(bound, |connection| sqlx::query_scalar("PRAGMA journal_mode").fetch_one(connection).boxed()).await
    }

    /// Asks for the rows of one node.
    pub(crate) async fn rows(&mut self, query: &Query, node: &NodeId, bound: Bound) -> Result<Matches, Fault> {
        self.run(bound, |connection| {
            let (sql, with_enabled, matches) = (query.sql.clone(), query.with_enabled, Matches::of(node.clone()));
            read(connection, sql, with_enabled, matches).boxed()
        })
        .await
    }

    /// Ends the connection; returns when its thread has ended what it was doing.
    pub(crate) async fn close(self) {
        // It is gone either way.
        let _ = self.inner.close().await;
    }
}

/// One run of the query; two rows of the node are enough to know. `matches` is new for each run.
async fn read(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    with_enabled: bool,
    mut matches: Matches,
) -> Result<Matches, sqlx::Error> {
    let mut rows = sqlx::query(sql).bind(matches.node().as_str().to_owned()).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let enabled = if with_enabled { Some(cell(&row, 2)?) } else { None };
        if !matches.take(Record { node_id: cell(&row, 0)?, password: cell(&row, 1)?, enabled }) {
            break;
        }
    }
    drop(rows);
    Ok(matches)
}

/// The type is that of the value: a column's declared type binds nothing in SQLite.
fn cell(row: &SqliteRow, column: usize) -> Result<Cell, sqlx::Error> {
    let value = row.try_get_raw(column)?;
    if value.is_null() {
        return Ok(Cell::Null);
    }
    let cell = match value.type_info().name() {
        "INTEGER" => <i64 as Decode<Sqlite>>::decode(value).map(Cell::Integer),
        "TEXT" | "BLOB" => <&[u8] as Decode<Sqlite>>::decode(value).map(|b| Cell::Text(Zeroizing::new(b.to_vec()))),
        _ => Ok(Cell::Other),
    };
    cell.map_err(sqlx::Error::Decode)
}

impl Interrupt {
    fn set(&self, at: time::Instant) {
        let after = at.into_std().saturating_duration_since(self.start);
        self.at.store(u64::try_from(after.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn is_due(&self) -> bool {
        self.start.elapsed().as_millis() >= u128::from(self.at.load(Ordering::Relaxed))
    }
}
