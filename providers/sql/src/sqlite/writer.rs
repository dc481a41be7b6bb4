//! The connection that writes to an SQLite file. Decides what a new file is: readable by its owner alone, since passwords
//! stand in it in clear, and in WAL mode, so that readers never wait for a writer. A file that is there keeps the mode it
//! has: whoever left WAL mode had a reason, such as a folder that readers cannot write.

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Error, OpenFlags};
use sqlx::SqlStr;
use tokio::task::spawn_blocking;

use super::{
    fault::{self, Fault},
    file, import, query,
};
use crate::{
    import::{NodeRow, Progress},
    writer::Meter,
};

pub(crate) struct Writer {
    /// Nobody else has it: it is shared with the thread that works on it.
    connection: Arc<Mutex<Connection>>,
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
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| sentence(&error, path))?;
        let writer = Self { connection: Arc::new(Mutex::new(connection)), path: path.to_owned() };
        writer.on(|connection| connection.busy_timeout(PATIENCE)).await?;
        Ok(writer)
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
        let writer = Self::open(path).await?;
        let path = path.to_owned();
        writer.on(move |connection| enter_wal(connection, &path)).await?;
        Ok(writer)
    }

    /// Works on the connection where it may take its time.
    async fn on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let connection = Arc::clone(&self.connection);
        let done = spawn_blocking(move || work(&connection.lock().unwrap_or_else(PoisonError::into_inner))).await;
        match done {
            Ok(done) => done.map_err(|error| sentence(&error, &self.path)),
            Err(error) => Err(format!("{}: work on it was given up: {error}", self.path.display())),
        }
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
        let journal = self.on(|connection| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))).await;
        let journal: String = journal.unwrap_or_else(|_| "unknown".to_owned());
        format!("SQLite {}, journal mode {journal}", self.path.display())
    }

    async fn versions(&mut self) -> Result<Vec<(i64, i64)>, String> {
        self.on(query::version).await
    }

    /// Nobody waits before the transaction does.
    async fn turn(&mut self) -> Result<(), String> {
        Ok(())
    }

    async fn stage(&mut self, rows: &[NodeRow], meter: &mut Meter<'_>) -> Result<(), String> {
        self.on(|connection| connection.execute_batch(import::BEGIN)).await?;
        for (index, piece) in rows.chunks(import::ROWS_PER_CALL).enumerate() {
            meter(Progress::Rows { done: index * import::ROWS_PER_CALL, of: rows.len() });
            let piece = piece.to_vec();
            self.on(move |connection| import::stage(connection, &piece)).await?;
        }
        self.on(|connection| connection.execute_batch("COMMIT")).await?;
        meter(Progress::Rows { done: rows.len(), of: rows.len() });
        Ok(())
    }

    async fn begin(&mut self) -> Result<(), String> {
        self.run(SqlStr::from_static("BEGIN IMMEDIATE")).await.map(drop)
    }

    async fn run(&mut self, sql: SqlStr) -> Result<u64, String> {
        self.on(move |connection| {
            let before = connection.total_changes();
            connection.execute_batch(sql.as_str())?;
            Ok(connection.total_changes() - before)
        })
        .await
    }

    async fn three(&mut self, sql: &'static str) -> Result<(i64, i64, i64), String> {
        self.on(move |connection| connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))))
            .await
    }

    async fn lines(&mut self, sql: &'static str) -> Result<Vec<i64>, String> {
        self.on(move |connection| connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()).await
    }

    /// What counts has been committed or not.
    async fn close(self) {}
}

/// Puts an empty file into WAL mode. SQLite does not wait for a lock here, whatever its busy timeout: another operator who
/// does the same at this moment is waited for, and may have filled the file by then.
#[expect(clippy::disallowed_methods, reason = "nobody tells that a lock is free, and this thread is no runtime's")]
fn enter_wal(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    let since = Instant::now();
    loop {
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        if pages > 0 {
            return Ok(());
        }
        match connection.execute_batch("PRAGMA journal_mode = WAL") {
            Err(error) if since.elapsed() < PATIENCE && is_locked(&error, path) => thread::sleep(RETRY),
            done => return done,
        }
    }
}

fn is_locked(error: &Error, path: &Path) -> bool {
    matches!(Fault::of(error, path), Fault::Locked(_))
}

/// An error of a statement that writes.
fn sentence(error: &Error, path: &Path) -> String {
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
