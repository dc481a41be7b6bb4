//! `credgate import` on SQLite. The rows go into a temporary table in memory first, a thousand per statement; then one
//! short transaction compares and writes. Readers see the table before or after it, never between.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, SqlSafeStr, SqliteConnection};

use super::{query, writer};
use crate::{
    import::{ImportError, ImportMode, Imported, NodeRow, Progress},
    schema,
};

/// Four bound values each, of the 32766 that SQLite takes in one statement.
const ROWS_PER_STATEMENT: usize = 1000;
/// Rows between two calls of `progress`.
const ROWS_PER_CALL: usize = 10 * ROWS_PER_STATEMENT;

pub(crate) async fn import(
    path: &Path,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let mut connection = writer::open(path).await.map_err(ImportError::Unavailable)?;
    let imported = run(&mut connection, path, rows, mode, progress).await;
    // What counts has been committed or not.
    let _ = connection.close().await;
    imported
}

async fn run(
    connection: &mut SqliteConnection,
    path: &Path,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let unavailable = |error: sqlx::Error| ImportError::Unavailable(writer::sentence(&error, path));
    let versions = query::version(connection).await.map_err(unavailable)?;
    schema::writable(&versions).map_err(|text| ImportError::Unavailable(format!("{} {text}", path.display())))?;
    stage(connection, rows, progress).await.map_err(unavailable)?;
    progress(Progress::Writing);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
    if mode == ImportMode::Insert {
        let lines = existing(&mut transaction).await.map_err(unavailable)?;
        if !lines.is_empty() {
            return Err(ImportError::Exist { lines });
        }
    }
    let imported = write(&mut transaction, mode).await.map_err(unavailable)?;
    transaction.commit().await.map_err(unavailable)?;
    Ok(imported)
}

/// Passwords are not to be written to a temporary file, and an exclusive lock is not to be taken before the end (which
/// is what a cache that spills does outside WAL mode).
async fn stage(
    connection: &mut SqliteConnection,
    rows: &[NodeRow],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), sqlx::Error> {
    for statement in [
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_spill = OFF",
        "CREATE TEMP TABLE staged (node_id TEXT NOT NULL PRIMARY KEY, password TEXT, enabled INTEGER, line INTEGER) \
         WITHOUT ROWID",
        // One transaction for all of it: the temporary table alone, nothing of the file is locked.
        "BEGIN",
    ] {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    for (index, piece) in rows.chunks(ROWS_PER_STATEMENT).enumerate() {
        let done = index * ROWS_PER_STATEMENT;
        if done.is_multiple_of(ROWS_PER_CALL) {
            progress(Progress::Rows { done, of: rows.len() });
        }
        let values = vec!["(?,?,?,?)"; piece.len()].join(",");
        let sql = AssertSqlSafe(format!("INSERT INTO staged VALUES {values}")).into_sql_str();
        let mut insert = sqlx::query(sql);
        for row in piece {
            insert = insert
                .bind(row.node_id.as_str().to_owned())
                .bind(row.password.as_ref().map(|password| password.expose().to_owned()))
                .bind(row.enabled)
                .bind(i64::try_from(row.line).unwrap_or(i64::MAX));
        }
        insert.execute(&mut *connection).await?;
    }
    sqlx::query("COMMIT").execute(&mut *connection).await?;
    progress(Progress::Rows { done: rows.len(), of: rows.len() });
    Ok(())
}

/// The lines whose nodes are in the table already.
async fn existing(connection: &mut SqliteConnection) -> Result<Vec<usize>, sqlx::Error> {
    let lines: Vec<i64> =
        sqlx::query_scalar("SELECT line FROM staged JOIN credgate_nodes USING (node_id) ORDER BY line")
            .fetch_all(connection)
            .await?;
    Ok(lines.into_iter().map(|line| usize::try_from(line).unwrap_or_default()).collect())
}

async fn write(connection: &mut SqliteConnection, mode: ImportMode) -> Result<Imported, sqlx::Error> {
    let (there, unchanged): (i64, i64) = sqlx::query_as(
        "SELECT count(*), \
         coalesce(sum(staged.password IS node.password AND staged.enabled = node.enabled), 0) \
         FROM staged JOIN credgate_nodes AS node USING (node_id)",
    )
    .fetch_one(&mut *connection)
    .await?;
    let staged: i64 = sqlx::query_scalar("SELECT count(*) FROM staged").fetch_one(&mut *connection).await?;
    let removed = match mode {
        ImportMode::Insert | ImportMode::Update => 0,
        ImportMode::Replace => {
            sqlx::query("DELETE FROM credgate_nodes WHERE node_id NOT IN (SELECT node_id FROM staged)")
                .execute(&mut *connection)
                .await?
                .rows_affected()
        }
    };
    // Only what differs is written: an import of the same file again writes nothing at all.
    sqlx::query(
        "INSERT INTO credgate_nodes (node_id, password, enabled) SELECT node_id, password, enabled FROM staged \
         WHERE true ORDER BY node_id \
         ON CONFLICT (node_id) DO UPDATE SET password = excluded.password, enabled = excluded.enabled \
         WHERE credgate_nodes.password IS NOT excluded.password OR credgate_nodes.enabled <> excluded.enabled",
    )
    .execute(&mut *connection)
    .await?;
    Ok(Imported::counted(staged, there, unchanged, removed))
}
