//! `credgate import` on MySQL and MariaDB: many rows per statement into a temporary table, then one short transaction
//! compares and writes. Readers see the table before or after it.

use credgate_provider::Password;
use sqlx::{AssertSqlSafe, Connection as _, Executor, MySqlConnection, SqlSafeStr};

use super::{Connection, query, writer};
use crate::{
    import::{ImportError, ImportMode, Imported, NodeRow, Progress},
    schema,
    url::Server,
};

/// Four bound values each, of the 65535 that a statement takes; about a hundred kilobytes, far below the 1 MB that is
/// the smallest usual `max_allowed_packet`.
const ROWS_PER_STATEMENT: usize = 1000;
/// Rows between two calls of `progress`.
const ROWS_PER_CALL: usize = 10 * ROWS_PER_STATEMENT;

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
    connection: &mut Connection,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let unavailable = |error: sqlx::Error| ImportError::Unavailable(writer::sentence(&error));
    let versions = query::version(&mut connection.inner).await.map_err(unavailable)?;
    schema::writable(&versions).map_err(|text| ImportError::Unavailable(format!("the database {text}")))?;
    writer::turn(connection).await.map_err(ImportError::Unavailable)?;
    let connection = &mut connection.inner;
    stage(connection, rows, progress).await.map_err(unavailable)?;
    progress(Progress::Writing);
    let mut transaction = connection.begin().await.map_err(unavailable)?;
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
    connection: &mut MySqlConnection,
    rows: &[NodeRow],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), sqlx::Error> {
    connection
        .execute(
            "CREATE TEMPORARY TABLE credgate_staged ( \
             node_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, \
             password VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, \
             enabled BOOLEAN NOT NULL, line BIGINT NOT NULL) ENGINE = InnoDB",
        )
        .await?;
    // Without one, every statement would be a commit of its own.
    let mut transaction = connection.begin().await?;
    for (index, piece) in rows.chunks(ROWS_PER_STATEMENT).enumerate() {
        let done = index * ROWS_PER_STATEMENT;
        if done.is_multiple_of(ROWS_PER_CALL) {
            progress(Progress::Rows { done, of: rows.len() });
        }
        let values = vec!["(?,?,?,?)"; piece.len()].join(",");
        let sql = AssertSqlSafe(format!("INSERT INTO credgate_staged VALUES {values}")).into_sql_str();
        let mut insert = sqlx::query(sql);
        for row in piece {
            insert = insert
                .bind(row.node_id.as_str())
                .bind(row.password.as_ref().map(Password::expose))
                .bind(row.enabled)
                .bind(i64::try_from(row.line).unwrap_or(i64::MAX));
        }
        insert.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    progress(Progress::Rows { done: rows.len(), of: rows.len() });
    Ok(())
}

/// The lines whose nodes are in the table already.
async fn existing(connection: &mut MySqlConnection) -> Result<Vec<usize>, sqlx::Error> {
    let sql = "SELECT line FROM credgate_staged JOIN credgate_nodes USING (node_id) ORDER BY line";
    let lines: Vec<i64> = sqlx::query_scalar(sql).fetch_all(connection).await?;
    Ok(lines.into_iter().map(|line| usize::try_from(line).unwrap_or_default()).collect())
}

async fn write(connection: &mut MySqlConnection, mode: ImportMode) -> Result<Imported, sqlx::Error> {
    let (staged, there, unchanged): (i64, i64, i64) = sqlx::query_as(
        "SELECT count(*), count(node.node_id), CAST(coalesce(sum(node.node_id IS NOT NULL \
         AND staged.password <=> node.password AND staged.enabled = node.enabled), 0) AS SIGNED) \
         FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)",
    )
    .fetch_one(&mut *connection)
    .await?;
    let removed = match mode {
        ImportMode::Insert | ImportMode::Update => 0,
        ImportMode::Replace => {
            let sql = "DELETE node FROM credgate_nodes AS node LEFT JOIN credgate_staged AS staged USING (node_id) \
                       WHERE staged.node_id IS NULL";
            sqlx::query(sql).execute(&mut *connection).await?.rows_affected()
        }
    };
    // Only what differs is written: an import of the same file again writes nothing at all.
    if staged > unchanged {
        sqlx::query(
            "INSERT INTO credgate_nodes (node_id, password, enabled) \
             SELECT node_id, password, enabled FROM credgate_staged ORDER BY node_id \
             ON DUPLICATE KEY UPDATE password = VALUES(password), enabled = VALUES(enabled)",
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(Imported::counted(staged, there, unchanged, removed))
}
