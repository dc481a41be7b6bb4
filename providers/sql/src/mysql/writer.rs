//! The connection that writes to MySQL and MariaDB: one at a time, by a named lock. Neither can undo a CREATE TABLE, so
//! every statement of a migration may be run again, and one that failed half-way is simply run once more.

use std::time::Duration;

use sqlx::{Executor, SqlStr};
use tokio::time::timeout;

use super::{Connection, fault, import, query};
use crate::{
    import::NodeRow,
    server::{Fault, Link},
    url::Server,
    writer::Meter,
};

pub(crate) struct Writer(Connection);

/// How long the login may take.
const LOGIN: Duration = Duration::from_secs(30);
/// How long another migration or import is waited for: longer than any sensible one.
const PATIENCE: u32 = 60;

impl Writer {
    /// Logs in.
    pub(crate) async fn open(server: &Server) -> Result<Self, String> {
        match timeout(LOGIN, Connection::connect(&Connection::access(server, None))).await {
            Ok(opened) => opened.map(Self).map_err(|fault: Fault| fault.to_string()),
            Err(_) => Err(Fault::Unanswered.to_string()),
        }
    }
}

impl crate::writer::Writer for Writer {
    const COUNT: &'static str = import::COUNT;
    const REMOVE: &'static str = import::REMOVE;
    const WRITE: &'static str = import::WRITE;
    const UNDOES_TABLES: bool = false;

    fn name(&self) -> String {
        "the database".to_owned()
    }

    async fn place(&mut self) -> String {
        self.0.name()
    }

    async fn versions(&mut self) -> Result<Vec<(i64, i64)>, String> {
        query::version(&mut self.0.inner).await.map_err(|error| sentence(&error))
    }

    /// It ends with the connection.
    async fn turn(&mut self) -> Result<(), String> {
        // The name holds for the whole server; another database of it waits too, which does no harm.
        let got: Option<i64> = sqlx::query_scalar("SELECT CAST(GET_LOCK('credgate', ?) AS SIGNED)")
            .bind(PATIENCE)
            .fetch_one(&mut self.0.inner)
            .await
            .map_err(|error| sentence(&error))?;
        match got {
            Some(1) => Ok(()),
            _ => Err(format!("another migration or import has been running for longer than {PATIENCE} seconds")),
        }
    }

    async fn stage(&mut self, rows: &[NodeRow], meter: &mut Meter<'_>) -> Result<(), String> {
        import::stage(&mut self.0.inner, rows, meter).await.map_err(|error| sentence(&error))
    }

    async fn begin(&mut self) -> Result<(), String> {
        self.run(SqlStr::from_static("BEGIN")).await.map(drop)
    }

    async fn run(&mut self, sql: SqlStr) -> Result<u64, String> {
        let done = self.0.inner.execute(sql).await.map_err(|error| sentence(&error))?;
        Ok(done.rows_affected())
    }

    async fn three(&mut self, sql: &'static str) -> Result<(i64, i64, i64), String> {
        sqlx::query_as(sql).fetch_one(&mut self.0.inner).await.map_err(|error| sentence(&error))
    }

    async fn lines(&mut self, sql: &'static str) -> Result<Vec<i64>, String> {
        sqlx::query_scalar(sql).fetch_all(&mut self.0.inner).await.map_err(|error| sentence(&error))
    }

    async fn close(self) {
        // What counts has been committed or not.
        let _ = timeout(Duration::from_secs(1), self.0.close()).await;
    }
}

/// An error of a statement that writes.
fn sentence(error: &sqlx::Error) -> String {
    match fault::told(error) {
        Some((1205 | 1213, _)) => "another program holds a lock on credgate's tables".to_owned(),
        Some((1044 | 1142, _)) => {
            "the user may not create or change credgate's tables: use the one that owns them (--url-file)".to_owned()
        }
        Some((1290 | 1792 | 1836, _)) => "the server only reads; is it a replica?".to_owned(),
        Some((1062, _)) => "another program added one of the nodes at the same time".to_owned(),
        _ => fault::of(error).to_string(),
    }
}
