//! The connection that writes to an SQLite file. Decides what a new file is: readable by its owner alone, since passwords
//! stand in it in clear, and in WAL mode, so that readers never wait for a writer. A file that is there keeps the mode it
//! has: whoever left WAL mode had a reason, such as a folder that readers cannot write.

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{ConnectOptions, Connection as _, Executor, SqlStr, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::time::{Instant, sleep};

use super::{
    fault::{self, Fault},
    file, import, query,
};
use crate::{import::NodeRow, writer::Meter};

pub(crate) struct Writer {
    pub(super) connection: SqliteConnection,
    path: PathBuf,
}

/// How long it waits for another program's lock: longer than any sensible write transaction.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries for a lock that SQLite does not wait for.
const RETRY: Duration = Duration::from_millis(20);

impl Writer {
    /// Opens an existing file.
    pub(crate) async fn open(path: &Path) -> Result<Self, String> {
        if let Err(error) = tokio::fs::metadata(path).await {
            return Err(file::missing(path, &error));
        }
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(PATIENCE).disable_statement_logging();
        let connection = options.connect().await.map_err(|error| sentence(&error, path))?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Opens a file, and makes it where there is none.
    pub(crate) async fn create(path: &Path) -> Result<Self, String> {
        // Empty: SQLite takes it as an empty database.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(format!("{} cannot be made: {error}", path.display()));
            }
            _ => {}
        }
        let mut writer = Self::open(path).await?;
        match enter_wal(&mut writer.connection, path).await {
            Ok(()) => Ok(writer),
            Err(error) => Err(sentence(&error, path)),
        }
    }

    pub(super) fn sentence(&self, error: &sqlx::Error) -> String {
        sentence(error, &self.path)
    }
}

impl crate::writer::Writer for Writer {
    const COUNT: &'static str = import::COUNT;
    const REMOVE: &'static str = import::REMOVE;
    const WRITE: &'static str = import::WRITE;
    const UNDOES_TABLES: bool = true;

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    async fn place(&mut self) -> String {
        let journal = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut self.connection).await;
        let journal = journal.unwrap_or_else(|_| "unknown".to_owned());
        format!("SQLite {}, journal mode {journal}", self.path.display())
    }

    async fn versions(&mut self) -> Result<Vec<(i64, i64)>, String> {
        query::version(&mut self.connection).await.map_err(|error| self.sentence(&error))
    }

    /// Nobody waits before the transaction does.
    async fn turn(&mut self) -> Result<(), String> {
        Ok(())
    }

    async fn stage(&mut self, rows: &[NodeRow], meter: &mut Meter<'_>) -> Result<(), String> {
        import::stage(&mut self.connection, rows, meter).await.map_err(|error| self.sentence(&error))
    }

    async fn begin(&mut self) -> Result<(), String> {
        self.run(SqlStr::from_static("BEGIN IMMEDIATE")).await.map(drop)
    }

    async fn run(&mut self, sql: SqlStr) -> Result<u64, String> {
        let done = self.connection.execute(sql).await.map_err(|error| self.sentence(&error))?;
        Ok(done.rows_affected())
    }

    async fn three(&mut self, sql: &'static str) -> Result<(i64, i64, i64), String> {
        sqlx::query_as(sql).fetch_one(&mut self.connection).await.map_err(|error| self.sentence(&error))
    }

    async fn lines(&mut self, sql: &'static str) -> Result<Vec<i64>, String> {
        sqlx::query_scalar(sql).fetch_all(&mut self.connection).await.map_err(|error| self.sentence(&error))
    }

    async fn close(self) {
        // What counts has been committed or not.
        let _ = self.connection.close().await;
    }
}

/// Puts an empty file into WAL mode. SQLite does not wait for a lock here, whatever its busy timeout: another operator who
/// does the same at this moment is waited for, and may have filled the file by then.
async fn enter_wal(connection: &mut SqliteConnection, path: &Path) -> Result<(), sqlx::Error> {
    let since = Instant::now();
    loop {
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await?;
        if pages > 0 {
            return Ok(());
        }
        match sqlx::query("PRAGMA journal_mode = WAL").execute(&mut *connection).await {
            Ok(_) => return Ok(()),
            Err(error) if since.elapsed() < PATIENCE && is_locked(&error, path) => sleep(RETRY).await,
            Err(error) => return Err(error),
        }
    }
}

fn is_locked(error: &sqlx::Error, path: &Path) -> bool {
    matches!(Fault::of(error, path), Fault::Locked(_))
}

/// An error of a statement that writes.
fn sentence(error: &sqlx::Error, path: &Path) -> String {
    let shown = path.display();
    match Fault::of(error, path) {
        Fault::Locked(text) => format!("{text}, for longer than {} seconds", PATIENCE.as_secs()),
        Fault::Late => format!("{shown}: interrupted"),
        _ if fault::is_read_only(error) => {
            let folder = path.parent().unwrap_or(path).display();
            format!(
                "{shown} cannot be written: this user needs write permission on the file and on its folder {folder}"
            )
        }
        Fault::Refused(text) | Fault::Statement(text) | Fault::Query(text) => text,
    }
}
