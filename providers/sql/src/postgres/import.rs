//! `credgate import` on PostgreSQL: COPY into a temporary table, then one comparison and one write, all in one
//! transaction. Readers see the table before or after it; other writers wait.

use std::fmt::Write as _;

use credgate_provider::Password;
use sqlx::{Connection as _, Executor, PgConnection};
use zeroize::Zeroizing;

use super::{query, writer};
use crate::{
    import::{ImportError, ImportMode, Imported, NodeRow, Progress},
    schema,
    url::Server,
};

/// Rows between two calls of `progress`: some hundred kilobytes in one message.
const ROWS_PER_CALL: usize = 10_000;

pub(crate) async fn import(
    server: &Server,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let mut connection = writer::open(server).await.map_err(ImportError::Unavailable)?;
    let imported = run(&mut connection, rows, mode, progress).await;
    writer::close(connection).await;
    imported
}

async fn run(
    connection: &mut PgConnection,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let unavailable = |error: sqlx::Error| ImportError::Unavailable(writer::sentence(&error));
    let versions = query::version(connection).await.map_err(unavailable)?;
    schema::writable(&versions).map_err(|text| ImportError::Unavailable(format!("the database {text}")))?;
    let mut transaction = connection.begin().await.map_err(unavailable)?;
    stage(&mut transaction, rows, progress).await.map_err(unavailable)?;
    progress(Progress::Writing);
    transaction.execute("LOCK TABLE credgate_nodes IN SHARE ROW EXCLUSIVE MODE").await.map_err(unavailable)?;
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

async fn stage(
    connection: &mut PgConnection,
    rows: &[NodeRow],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), sqlx::Error> {
    connection
        .execute(
            "CREATE TEMPORARY TABLE credgate_staged (node_id text COLLATE \"C\" NOT NULL, password text COLLATE \"C\", \
             enabled boolean NOT NULL, line bigint NOT NULL) ON COMMIT DROP",
        )
        .await?;
    let mut copy = connection.copy_in_raw("COPY credgate_staged FROM STDIN").await?;
    for (index, piece) in rows.chunks(ROWS_PER_CALL).enumerate() {
        progress(Progress::Rows { done: index * ROWS_PER_CALL, of: rows.len() });
        let text = Zeroizing::new(text(piece));
        copy.send(text.as_bytes()).await?;
    }
    copy.finish().await?;
    connection.execute("ANALYZE credgate_staged").await?;
    progress(Progress::Rows { done: rows.len(), of: rows.len() });
    Ok(())
}

/// The text format of COPY: tabs between columns, \N for NULL, backslashes doubled. Node IDs and passwords hold no
/// control characters.
fn text(rows: &[NodeRow]) -> String {
    let mut text = String::with_capacity(rows.len() * 64);
    for row in rows {
        let password = match row.password.as_ref().map(Password::expose) {
            Some(password) => Zeroizing::new(password.replace('\\', "\\\\")),
            None => Zeroizing::new("\\N".to_owned()),
        };
        let (node, enabled) = (row.node_id.as_str(), if row.enabled { 't' } else { 'f' });
        // Writing to a String does not fail.
        let _ = writeln!(text, "{node}\t{}\t{enabled}\t{}", password.as_str(), row.line);
    }
    text
}

/// The lines whose nodes are in the table already.
async fn existing(connection: &mut PgConnection) -> Result<Vec<usize>, sqlx::Error> {
    let sql = "SELECT line FROM credgate_staged JOIN credgate_nodes USING (node_id) ORDER BY line";
    let lines: Vec<i64> = sqlx::query_scalar(sql).fetch_all(connection).await?;
    Ok(lines.into_iter().map(|line| usize::try_from(line).unwrap_or_default()).collect())
}

async fn write(connection: &mut PgConnection, mode: ImportMode) -> Result<Imported, sqlx::Error> {
    let (staged, there, unchanged): (i64, i64, i64) = sqlx::query_as(
        "SELECT count(*), count(node.node_id), count(*) FILTER (WHERE node.node_id IS NOT NULL \
         AND staged.password IS NOT DISTINCT FROM node.password AND staged.enabled = node.enabled) \
         FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)",
    )
    .fetch_one(&mut *connection)
    .await?;
    let removed = match mode {
        ImportMode::Insert | ImportMode::Update => 0,
        ImportMode::Replace => {
            let sql = "DELETE FROM credgate_nodes AS node WHERE NOT EXISTS \
                       (SELECT FROM credgate_staged AS staged WHERE staged.node_id = node.node_id)";
            sqlx::query(sql).execute(&mut *connection).await?.rows_affected()
        }
    };
    // Only what differs is written: an import of the same file again writes nothing at all.
    sqlx::query(
        "INSERT INTO credgate_nodes (node_id, password, enabled) \
         SELECT node_id, password, enabled FROM credgate_staged ORDER BY node_id \
         ON CONFLICT (node_id) DO UPDATE SET password = excluded.password, enabled = excluded.enabled \
         WHERE credgate_nodes.password IS DISTINCT FROM excluded.password \
         OR credgate_nodes.enabled <> excluded.enabled",
    )
    .execute(&mut *connection)
    .await?;
    Ok(Imported::counted(staged, there, unchanged, removed))
}
