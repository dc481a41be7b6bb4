//! credgate's own schema: which versions this build can read, and how a database gets there. Forward only.
//!
//! The schema carries its version and the oldest reader that still understands it. `serve` accepts a version that is at
//! least what it needs and a `min_reader` that is at most its own: a rolling upgrade migrates first, and the old
//! processes go on reading.

use sqlx::{SqlStr, migrate::Migrator};

use crate::{
    mysql, postgres, sqlite,
    url::{Database, Dialect, Location},
    writer::Writer,
};

/// The schema that this build makes and reads.
pub(crate) const VERSION: i64 = 1;

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");
static MYSQL: Migrator = sqlx::migrate!("../../migrations/mysql");

/// What `migrate` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; `None` when there was no schema of ours.
    pub from: Option<i64>,
    /// The version now.
    pub to: i64,
    /// One phrase more for the operator: the server and its version, or the file and its journal mode.
    pub place: String,
}

/// Why the schema was not migrated (exit code 69). Nothing was changed, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database cannot be reached, is locked, or may not be written.
    #[error("{0}")]
    Unavailable(String),
    /// A newer credgate has migrated it already.
    #[error("the schema is of version {found}, newer than the {VERSION} of this build: use the newer credgate")]
    Newer {
        /// The version found.
        found: i64,
    },
    /// A migration failed.
    #[error("the migration failed and was undone: {0}")]
    Failed(String),
    /// A migration failed in the middle, on a database that does not undo a CREATE TABLE.
    #[error("the migration failed; what it did stays, and it can be run again: {0}")]
    Stopped(String),
}

/// Brings credgate's own schema to the version of this build, in one transaction; a new SQLite file is made where there
/// is none. Running it again changes nothing.
pub async fn migrate(database: &Database) -> Result<Migrated, MigrateError> {
    match database.location() {
        Location::Sqlite(path) => run(sqlite::Writer::create(path).await, &SQLITE).await,
        Location::Postgres(server) => run(postgres::Writer::open(server).await, &POSTGRES).await,
        Location::MySql(server) => run(mysql::Writer::open(server).await, &MYSQL).await,
    }
}

async fn run<W: Writer>(opened: Result<W, String>, migrator: &Migrator) -> Result<Migrated, MigrateError> {
    let mut writer = opened.map_err(MigrateError::Unavailable)?;
    let migrated = forward(&mut writer, migrator).await;
    let place = writer.place().await;
    writer.close().await;
    migrated.map(|from| Migrated { from, to: VERSION, place })
}

/// Two operators at once: the second waits for its turn, and then finds everything done.
async fn forward<W: Writer>(writer: &mut W, migrator: &Migrator) -> Result<Option<i64>, MigrateError> {
    let unavailable = MigrateError::Unavailable;
    writer.turn().await.map_err(unavailable)?;
    writer.begin().await.map_err(unavailable)?;
    let from = writer.versions().await.map_err(unavailable)?.first().map(|(version, _)| *version);
    if let Some(found) = from.filter(|found| *found > VERSION) {
        return Err(MigrateError::Newer { found });
    }
    let failed = if W::UNDOES_TABLES { MigrateError::Failed } else { MigrateError::Stopped };
    for migration in migrator.iter().filter(|migration| migration.version > from.unwrap_or_default()) {
        writer.run(migration.sql.clone()).await.map_err(failed)?;
    }
    writer.run(SqlStr::from_static("COMMIT")).await.map_err(unavailable)?;
    Ok(from)
}

/// The SQL that [`migrate()`] would run on an empty database, for `credgate migrate --print`. It may be run by hand, and
/// run again.
pub fn migration_sql(dialect: Dialect) -> String {
    let (first, migrator) = match dialect {
        Dialect::Sqlite => ("PRAGMA journal_mode = WAL; -- a new file only\n", &SQLITE),
        Dialect::Postgres => ("", &POSTGRES),
        Dialect::MySql => ("", &MYSQL),
    };
    let mut sql = first.to_owned();
    for migration in migrator.iter() {
        sql.push('\n');
        sql.push_str(migration.sql.as_str());
    }
    sql
}

/// Whether this build can read what stands in `credgate_schema`, as rows of (version, min_reader).
pub(crate) fn readable(rows: &[(i64, i64)]) -> Result<(), String> {
    match rows {
        [] => {
            Err("has no credgate schema: run `credgate migrate`, or set provider.sql.query to use tables of your own"
                .to_owned())
        }
        [(version, _)] if *version < VERSION => Err(format!(
            "has credgate's schema in version {version}, and this build needs {VERSION}: run `credgate migrate`"
        )),
        [(version, min_reader)] if *min_reader > VERSION => Err(format!(
            "has credgate's schema in version {version}, which needs a credgate that reads version {min_reader}; this \
             build reads {VERSION}: upgrade credgate"
        )),
        [_] => Ok(()),
        _ => Err("has more than one row in credgate_schema; there must be exactly one".to_owned()),
    }
}

/// Whether this build may write: of an unknown version it cannot know what a node's row must hold.
pub(crate) fn writable(rows: &[(i64, i64)]) -> Result<(), String> {
    readable(rows)?;
    match rows {
        [(VERSION, _)] => Ok(()),
        _ => Err("has a newer schema than this build can write: use the newer credgate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_by_those_it_says() {
        for (rows, wanted) in [
            (&[][..], Err("no credgate schema")),
            (&[(0, 0)], Err("this build needs 1")),
            (&[(1, 1)], Ok(())),
            (&[(7, 1)], Ok(())),
            (&[(7, 2)], Err("upgrade credgate")),
            (&[(1, 1), (1, 1)], Err("more than one row")),
        ] {
            match (readable(rows), wanted) {
                (Ok(()), Ok(())) => {}
                (Err(text), Err(part)) => assert!(text.contains(part), "{text}"),
                (found, wanted) => panic!("{rows:?}: {found:?}, not {wanted:?}"),
            }
        }
        assert!(writable(&[(1, 1)]).is_ok());
        assert!(writable(&[(2, 1)]).is_err());
    }
}
