//! `credgate migrate` on PostgreSQL: one transaction under an advisory lock, so that a second one waits and then finds
//! everything done.

use sqlx::{Connection as _, Executor, PgConnection};

use super::{Connection, query, writer};
use crate::{
    schema::{MigrateError, Migrated, POSTGRES, VERSION},
    server::Link,
    url::Server,
};

pub(crate) async fn migrate(server: &Server) -> Result<Migrated, MigrateError> {
    let mut connection = writer::open(server).await.map_err(MigrateError::Unavailable)?;
    let migrated = run(&mut connection).await;
    let mut connection = Connection { inner: connection, begin: None };
    let place = connection.version().await.unwrap_or_else(|_| "PostgreSQL".to_owned());
    writer::close(connection.inner).await;
    migrated.map(|from| Migrated { from, to: VERSION, place })
}

async fn run(connection: &mut PgConnection) -> Result<Option<i64>, MigrateError> {
    let unavailable = |error: sqlx::Error| MigrateError::Unavailable(writer::sentence(&error));
    let mut transaction = connection.begin().await.map_err(unavailable)?;
    // "credgate" in ASCII: a number that nobody else takes.
    transaction.execute("SELECT pg_advisory_xact_lock(7165901439005455461)").await.map_err(unavailable)?;
    let there: bool = sqlx::query_scalar("SELECT to_regclass('credgate_schema') IS NOT NULL")
        .fetch_one(&mut *transaction)
        .await
        .map_err(unavailable)?;
    let found = if there { query::version(&mut transaction).await.map_err(unavailable)? } else { Vec::new() };
    let from = found.first().map(|(version, _)| *version);
    if let Some(found) = from.filter(|found| *found > VERSION) {
        return Err(MigrateError::Newer { found });
    }
    for migration in POSTGRES.iter().filter(|migration| migration.version > from.unwrap_or_default()) {
        let done = transaction.execute(migration.sql.clone()).await;
        done.map_err(|error| MigrateError::Failed(writer::sentence(&error)))?;
    }
    transaction.commit().await.map_err(unavailable)?;
    Ok(from)
}
