//! The connection that writes to PostgreSQL. All of a migration, and all of an import, is one transaction; one after the
//! other, by an advisory lock.

use std::time::Duration;

use sqlx::{Connection as _, Executor, SqlStr};
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

impl Writer {
    /// Logs in; a lock of another program is then waited for 60 s at most, longer than any sensible write transaction.
    pub(crate) async fn open(server: &Server) -> Result<Self, String> {
        let opened = async {
            let mut connection = Connection::connect(&Connection::access(server, None)).await?;
            connection.run(SqlStr::from_static("SET lock_timeout = 60000")).await?;
            Ok(Self(connection))
        };
        match timeout(LOGIN, opened).await {
            Ok(opened) => opened.map_err(|fault: Fault| fault.to_string()),
            Err(_) => Err(Fault::Unanswered.to_string()),
        }
    }
}

impl crate::writer::Writer for Writer {
    const COUNT: &'static str = import::COUNT;
    const REMOVE: &'static str = import::REMOVE;
    const WRITE: &'static str = import::WRITE;
    const UNDOES_TABLES: bool = true;

    fn name(&self) -> String {
        "the database".to_owned()
    }

    async fn place(&mut self) -> String {
        self.0.version().await.unwrap_or_else(|_| "PostgreSQL".to_owned())
    }

    async fn versions(&mut self) -> Result<Vec<(i64, i64)>, String> {
        // Asking a table that is not there would end the transaction.
        let there = sqlx::query_scalar("SELECT to_regclass('credgate_schema') IS NOT NULL").persistent(false);
        match there.fetch_one(&mut self.0.inner).await.map_err(|error| sentence(&error))? {
            true => query::version(&mut self.0.inner).await.map_err(|error| sentence(&error)),
            false => Ok(Vec::new()),
        }
    }

    async fn turn(&mut self) -> Result<(), String> {
        // "credgate" in ASCII: a number that nobody else takes.
        let sql = "BEGIN; SELECT pg_advisory_xact_lock(7165901439005455461)";
        self.run(SqlStr::from_static(sql)).await.map(drop)
    }

    async fn stage(&mut self, rows: &[NodeRow], meter: &mut Meter<'_>) -> Result<(), String> {
        import::stage(&mut self.0.inner, rows, meter).await.map_err(|error| sentence(&error))
    }

    /// It has begun with the turn.
    async fn begin(&mut self) -> Result<(), String> {
        Ok(())
    }

    async fn run(&mut self, sql: SqlStr) -> Result<u64, String> {
        let done = self.0.inner.execute(sql).await.map_err(|error| sentence(&error))?;
        Ok(done.rows_affected())
    }

    async fn three(&mut self, sql: &'static str) -> Result<(i64, i64, i64), String> {
        sqlx::query_as(sql).persistent(false).fetch_one(&mut self.0.inner).await.map_err(|error| sentence(&error))
    }

    async fn lines(&mut self, sql: &'static str) -> Result<Vec<i64>, String> {
        sqlx::query_scalar(sql).persistent(false).fetch_all(&mut self.0.inner).await.map_err(|error| sentence(&error))
    }

    async fn close(self) {
        // What counts has been committed or not.
        let _ = timeout(Duration::from_secs(1), self.0.inner.close()).await;
    }
}

/// An error of a statement that writes.
fn sentence(error: &sqlx::Error) -> String {
    match fault::told(error) {
        Some((code, _)) if code == "55P03" => {
            "another program holds a lock on credgate's tables, for longer than 60 seconds".to_owned()
        }
        Some((code, message)) if code == "42501" => {
            format!("{message}: use the role that owns the tables (--url-file)")
        }
        Some((code, _)) if code == "25006" => "the server only reads; is it a standby?".to_owned(),
        Some((code, _)) if code == "23505" => "another program added one of the nodes at the same time".to_owned(),
        _ => fault::of(error).to_string(),
    }
}
