//! `credgate migrate` on SQLite. Decides what a new file is: readable by its owner alone, since passwords stand in it in
//! clear, and in WAL mode, so that readers never wait for a writer. A file that is there keeps the mode it has: whoever
//! left WAL mode had a reason, such as a folder that readers cannot write.

use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};

use sqlx::{Connection, SqliteConnection, migrate::MigrateError as SqlxError};
use tokio::time::{Instant, sleep};

use super::{fault::Fault, query, writer};
use crate::schema::{MigrateError, Migrated, SQLITE, VERSION};

pub(crate) async fn migrate(path: &Path) -> Result<Migrated, MigrateError> {
    create(path).map_err(|error| MigrateError::Unavailable(format!("{} cannot be made: {error}", path.display())))?;
    let mut connection = writer::open(path).await.map_err(MigrateError::Unavailable)?;
    let migrated = run(&mut connection, path).await;
    // What counts has been committed or not.
    let _ = connection.close().await;
    migrated
}

/// Makes an empty file, which SQLite takes as an empty database, unless there is one.
fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

async fn run(connection: &mut SqliteConnection, path: &Path) -> Result<Migrated, MigrateError> {
    let unavailable = |error: sqlx::Error| MigrateError::Unavailable(writer::sentence(&error, path));
    enter_wal(connection, path).await.map_err(unavailable)?;
    // Two operators at once: the second waits here and then finds everything done.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
    let from = query::version(&mut transaction).await.map_err(unavailable)?.first().map(|(version, _)| *version);
    if let Some(found) = from.filter(|found| *found > VERSION) {
        return Err(MigrateError::Newer { found });
    }
    // `run` itself is generic over `Acquire`, and its future cannot be shown to be `Send` (as sqlx says of `run_direct`).
    SQLITE.run_direct(None, &mut *transaction, false).await.map_err(|error| failed(error, path))?;
    transaction.commit().await.map_err(unavailable)?;
    let journal: String =
        sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *connection).await.map_err(unavailable)?;
    let place = format!("SQLite {}, journal mode {journal}", path.display());
    Ok(Migrated { from, to: VERSION, place })
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
            Err(error) if since.elapsed() < writer::PATIENCE && is_locked(&error, path) => sleep(RETRY).await,
            Err(error) => return Err(error),
        }
    }
}

fn is_locked(error: &sqlx::Error, path: &Path) -> bool {
    matches!(Fault::of(error, path), Fault::Locked(_))
}

/// Between two tries for a lock that SQLite does not wait for.
const RETRY: Duration = Duration::from_millis(20);

fn failed(error: SqlxError, path: &Path) -> MigrateError {
    match error {
        SqlxError::Execute(error) | SqlxError::ExecuteMigration(error, _) => {
            MigrateError::Failed(writer::sentence(&error, path))
        }
        SqlxError::VersionMissing(found) => MigrateError::Newer { found },
        other => MigrateError::Failed(other.to_string()),
    }
}
