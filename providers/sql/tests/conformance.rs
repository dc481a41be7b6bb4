//! The suite that judges every provider, on credgate's own schema and on a query over another program's table.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "sqlite/support.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use the rest")]
mod support;

use std::{
    fmt::Write,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Subject, assert_conforms};
use credgate_provider::{BoxFuture, Deadline, OpenError, Provider, Site};
use credgate_sql::SqlKind;
use credgate_support::provider::{self, check};
use futures::FutureExt;
use support::{Store, Writer};

/// credgate's own schema in rollback mode, where a writer can shut readers out.
struct OwnSchema;

/// A table of another program in WAL mode, without any constraint. Its view makes lookups endless while `busy` says so.
struct OwnQuery;

struct Opened {
    store: Store,
    provider: Box<dyn Provider>,
    slots: usize,
    table: &'static str,
    /// Holds the lock of a disturbance, if there is one.
    writer: Mutex<Writer>,
    locked: AtomicBool,
}

const TABLE: &str = "PRAGMA journal_mode = WAL; CREATE TABLE nodes (node_id TEXT, password TEXT, enabled TEXT); \
    CREATE TABLE busy (yes)";
const QUERY: &str = "query = '''SELECT node_id, password, enabled FROM nodes
    WHERE node_id = ?1 AND (?1 = '' OR NOT EXISTS (SELECT * FROM busy) OR (
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT count(*) FROM c) > 0)'''
max_connections = 8";

impl Subject for OwnSchema {
    fn name(&self) -> String {
        "sql: SQLite, own schema".into()
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        async move {
            if rows.iter().enumerate().any(|(at, row)| rows[..at].iter().any(|other| other.node_id == row.node_id)) {
                return Made::Impossible(NotApplicable("its primary key takes one row for a node"));
            }
            if rows.iter().any(|row| row.enabled.is_none()) {
                return Made::Impossible(NotApplicable("its column enabled is NOT NULL"));
            }
            let store = Store::migrated().await;
            store.sql("PRAGMA journal_mode = DELETE");
            open(store, "credgate_nodes", "max_connections = 8\nallow_empty = true", rows, site).await
        }
        .boxed()
    }
}

impl Subject for OwnQuery {
    fn name(&self) -> String {
        "sql: SQLite, own query".into()
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        async move { open(Store::with(TABLE), "nodes", QUERY, rows, site).await }.boxed()
    }
}

async fn open(store: Store, table: &'static str, settings: &str, rows: &[Row], site: Site) -> Made {
    let mut writer = store.writer();
    writer.run(&fill(table, rows));
    let site = Site { base: store.folder().to_owned(), ..site };
    let prepared = provider::prepare(&SqlKind, site, &format!("url = 'sqlite:nodes.db'\n{settings}")).unwrap();
    let slots = prepared.slots();
    match prepared.open(Deadline::after(provider::OPENING)).await {
        Ok(provider) => Made::Open(Box::new(Opened {
            store,
            provider,
            slots,
            table,
            writer: Mutex::new(writer),
            locked: false.into(),
        })),
        Err(OpenError::Unavailable(text)) => Made::Refused(text.to_string()),
        Err(OpenError::Configuration(problem)) => Made::Refused(problem.to_string()),
    }
}

/// All rows in one transaction, the constraints that a careful schema has notwithstanding.
fn fill(table: &str, rows: &[Row]) -> String {
    let mut script = format!("PRAGMA ignore_check_constraints = ON; BEGIN; DELETE FROM {table};");
    for row in rows {
        let password = row.password.as_ref().map_or("NULL".to_owned(), |bytes| {
            let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            format!("CAST(x'{hex}' AS TEXT)")
        });
        let enabled = row.enabled.as_ref().map_or("NULL".to_owned(), |word| format!("'{word}'"));
        let node_id = &row.node_id;
        write!(script, "INSERT INTO {table} (node_id, password, enabled) VALUES ('{node_id}', {password}, {enabled});")
            .unwrap();
    }
    script + "COMMIT;"
}

impl credgate_conformance::Store for Opened {
    fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn change<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        self.writer.lock().unwrap().run(&fill(self.table, rows));
        async { Ok(()) }.boxed()
    }

    fn disturb(&self, how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        async move {
            let own_schema = self.table == "credgate_nodes";
            match how {
                Disturbance::Refusing if own_schema => {
                    fs::rename(self.store.path(), self.store.file("away.db")).unwrap();
                    // The gateway's own periodic check is what notices it.
                    assert!(check(&*self.provider).await.is_err());
                }
                Disturbance::Refusing => self.run("ALTER TABLE nodes RENAME TO away;"),
                Disturbance::Silent if own_schema => {
                    self.locked.store(true, Ordering::Relaxed);
                    self.run("BEGIN EXCLUSIVE;");
                }
                Disturbance::Silent => return Err(NotApplicable("in WAL mode no writer shuts readers out")),
                Disturbance::Busy if own_schema => return Err(NotApplicable("no lookup by primary key takes long")),
                Disturbance::Busy => self.run("INSERT INTO busy VALUES (1);"),
            }
            Ok(())
        }
        .boxed()
    }

    fn heal(&self) -> BoxFuture<'_, ()> {
        async {
            if self.store.file("away.db").exists() {
                fs::rename(self.store.file("away.db"), self.store.path()).unwrap();
                check(&*self.provider).await.unwrap();
            } else if self.locked.swap(false, Ordering::Relaxed) {
                self.run("ROLLBACK;");
            } else if self.table == "nodes" {
                self.run("DELETE FROM busy;");
                if !self.store.sql("SELECT name FROM sqlite_schema WHERE name = 'away'").is_empty() {
                    self.run("ALTER TABLE away RENAME TO nodes;");
                }
            }
        }
        .boxed()
    }
}

impl Opened {
    fn run(&self, script: &str) {
        self.writer.lock().unwrap().run(script);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_schema() {
    assert_conforms(&OwnSchema).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_query() {
    assert_conforms(&OwnQuery).await;
}
