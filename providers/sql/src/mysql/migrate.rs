//! `credgate migrate` on MySQL and MariaDB: one at a time. Neither can undo a CREATE TABLE, so every statement of a
//! migration may be run again, and a migration that failed half-way is simply run once more.

use sqlx::Executor;

use super::{Connection, query, writer};
use crate::{
    schema::{MYSQL, MigrateError, Migrated, VERSION},
    url::Server,
};

pub(crate) async fn migrate(server: &Server) -> Result<Migrated, MigrateError> {
    let mut connection = writer::open(server).await.map_err(MigrateError::Unavailable)?;
    let migrated = run(&mut connection).await;
    let place = connection.name();
    writer::close(connection).await;
    migrated.map(|from| Migrated { from, to: VERSION, place })
}

async fn run(connection: &mut Connection) -> Result<Option<i64>, MigrateError> {
    writer::turn(connection).await.map_err(MigrateError::Unavailable)?;
    let found = query::version(&mut connection.inner).await;
    let found = found.map_err(|error| MigrateError::Unavailable(writer::sentence(&error)))?;
    let from = found.first().map(|(version, _)| *version);
    if let Some(found) = from.filter(|found| *found > VERSION) {
        return Err(MigrateError::Newer { found });
    }
    for migration in MYSQL.iter().filter(|migration| migration.version > from.unwrap_or_default()) {
        let done = connection.inner.execute(migration.sql.clone()).await;
        done.map_err(|error| {
            let why = writer::sentence(&error);
            MigrateError::Unavailable(format!(
                "the migration failed; what it did stays, and it can be run again: {why}"
            ))
        })?;
    }
    Ok(from)
}
