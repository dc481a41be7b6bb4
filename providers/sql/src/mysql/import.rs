//! How `credgate import` stages rows in MySQL and MariaDB: many per statement, into a temporary table.

use credgate_provider::Password;
use sqlx::{AssertSqlSafe, Connection as _, Executor, MySqlConnection, SqlSafeStr};

use crate::{
    import::{NodeRow, Progress},
    writer::Meter,
};

pub(super) const COUNT: &str = "SELECT count(*), count(node.node_id), CAST(coalesce(sum(node.node_id IS NOT NULL \
    AND staged.password <=> node.password AND staged.enabled = node.enabled), 0) AS SIGNED) \
    FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)";
pub(super) const REMOVE: &str = "DELETE node FROM credgate_nodes AS node \
    LEFT JOIN credgate_staged AS staged USING (node_id) WHERE staged.node_id IS NULL";
/// A row that is as it should be is not changed by being written.
pub(super) const WRITE: &str = "INSERT INTO credgate_nodes (node_id, password, enabled) \
    SELECT node_id, password, enabled FROM credgate_staged ORDER BY node_id \
    ON DUPLICATE KEY UPDATE password = VALUES(password), enabled = VALUES(enabled)";

/// Four bound values each, of the 65535 that a statement takes; about a hundred kilobytes, far below the 1 MB that is
/// the smallest usual `max_allowed_packet`.
const ROWS_PER_STATEMENT: usize = 1000;
/// Rows between two calls of the meter.
const ROWS_PER_CALL: usize = 10 * ROWS_PER_STATEMENT;

pub(super) async fn stage(
    connection: &mut MySqlConnection,
    rows: &[NodeRow],
    meter: &mut Meter<'_>,
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
            meter(Progress::Rows { done, of: rows.len() });
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
    meter(Progress::Rows { done: rows.len(), of: rows.len() });
    Ok(())
}
