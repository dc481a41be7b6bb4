//! One SQLite connection: read-only, and interrupted at the bound of the work it does. Every call here blocks: only threads
//! that may wait come here.
//!
//! SQLite has no statement timeout, and the thread of an abandoned statement would run on for as long as it likes. So
//! every connection has a progress handler that compares the clock with a bound, and waits for locks in short slices:
//! nothing it does lasts longer than its bound plus one slice, whoever has stopped waiting.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use credgate_provider::NodeId;
use rusqlite::{OpenFlags, Row, types::ValueRef};
use zeroize::Zeroizing;

use super::{fault::Fault, query::Query};
use crate::{
    record::{Cell, Matches, Record},
    task::Bound,
};

/// How to reach the database.
#[derive(Debug)]
pub(crate) struct Access {
    path: PathBuf,
    /// How long one attempt waits for a lock.
    slice: Duration,
}

/// A connection whose statements end at a bound.
pub(crate) struct Connection {
    inner: rusqlite::Connection,
    interrupt: Interrupt,
    access: Arc<Access>,
}

/// The point in time after which the connection stops what it does.
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
        Self { path: path.to_owned(), slice }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Connection {
    pub(crate) fn open(access: &Arc<Access>) -> Result<Self, Fault> {
        Self::connect(access).map_err(|error| Fault::of(&error, &access.path))
    }

    fn connect(access: &Arc<Access>) -> rusqlite::Result<Self> {
        // One thread at a time uses it, so SQLite need not lock it; and the path is a path, not a URI.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let inner = rusqlite::Connection::open_with_flags(&access.path, flags)?;
        inner.busy_timeout(access.slice)?;
        let interrupt = Interrupt { start: Instant::now(), at: Arc::new(AtomicU64::new(u64::MAX)) };
        let watch = interrupt.clone();
        inner.progress_handler(INSTRUCTIONS_PER_LOOK, Some(move || watch.is_due()))?;
        Ok(Self { inner, interrupt, access: Arc::clone(access) })
    }

    /// Runs `statement`, again and again while the database is locked, until the bound.
    #[expect(clippy::disallowed_methods, reason = "nobody tells that a lock is free, and this thread is no runtime's")]
    pub(crate) fn run<T>(
        &self,
        bound: Bound,
        statement: impl Fn(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        self.interrupt.set(bound);
        loop {
            let fault = match statement(&self.inner) {
                Ok(value) => return Ok(value),
                Err(error) => Fault::of(&error, &self.access.path),
            };
            // A last attempt must not outlast the bound: the caller is to hear who held the lock.
            let last = Instant::now() + self.access.slice + PAUSE >= bound.work.into_std();
            if last || !matches!(fault, Fault::Locked(_)) {
                return Err(fault);
            }
            thread::sleep(PAUSE);
        }
    }

    /// `delete`, `wal`, …
    pub(crate) fn journal_mode(&self, bound: Bound) -> Result<String, Fault> {
        self.run(bound, |connection| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)))
    }

    /// What is read from now on is read from the file as it is at the first statement.
    pub(crate) fn begin_view(&self) -> Result<(), Fault> {
        self.at_once("BEGIN")
    }

    /// The next statement reads the file as it is then; writers need not wait for this connection any more.
    pub(crate) fn end_view(&self) -> Result<(), Fault> {
        self.at_once("COMMIT")
    }

    /// Runs a statement that waits for nothing.
    fn at_once(&self, statement: &str) -> Result<(), Fault> {
        let done = self.inner.prepare_cached(statement).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|error| Fault::of(&error, &self.access.path))
    }

    /// Asks for the rows of one node; two of them are enough to know.
    pub(crate) fn rows(&self, query: &Query, node: &NodeId, bound: Bound) -> Result<Matches, Fault> {
        self.run(bound, |connection| {
            let mut statement = connection.prepare_cached(&query.sql)?;
            let mut rows = statement.query([node.as_str()])?;
            let mut matches = Matches::of(node.clone());
            while let Some(row) = rows.next()? {
                let enabled = if query.with_enabled { Some(cell(row, 2)?) } else { None };
                if !matches.take(Record { node_id: cell(row, 0)?, password: cell(row, 1)?, enabled }) {
                    break;
                }
            }
            Ok(matches)
        })
    }
}

/// The type is that of the value: a column's declared type binds nothing in SQLite.
fn cell(row: &Row<'_>, column: usize) -> rusqlite::Result<Cell> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(Zeroizing::new(bytes.to_vec())),
        ValueRef::Real(_) => Cell::Other,
    })
}

impl Interrupt {
    fn set(&self, bound: Bound) {
        let after = bound.work.into_std().saturating_duration_since(self.start);
        self.at.store(u64::try_from(after.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn is_due(&self) -> bool {
        self.start.elapsed().as_millis() >= u128::from(self.at.load(Ordering::Relaxed))
    }
}
