//! How `credgate import` stages rows in SQLite: in a temporary table in memory, a thousand per statement.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqliteConnection};

use crate::{
    import::{NodeRow, Progress},
    writer::Meter,
};

pub(super) const COUNT: &str = "SELECT count(*), count(node.node_id), \
    coalesce(sum(node.node_id IS NOT NULL AND staged.password IS node.password AND staged.enabled = node.enabled), 0) \
    FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)";
pub(super) const REMOVE: &str = "DELETE FROM credgate_nodes WHERE node_id NOT IN (SELECT node_id FROM credgate_staged)";
pub(super) const WRITE: &str = "INSERT INTO credgate_nodes (node_id, password, enabled) \
    SELECT node_id, password, enabled FROM credgate_staged WHERE true ORDER BY node_id \
    ON CONFLICT (node_id) DO UPDATE SET password = excluded.password, enabled = excluded.enabled \
    WHERE credgate_nodes.password IS NOT excluded.password OR credgate_nodes.enabled <> excluded.enabled";

/// Four bound values each, of the 32766 that SQLite takes in one statement.
const ROWS_PER_STATEMENT: usize = 1000;
/// Rows between two calls of the meter.
const ROWS_PER_CALL: usize = 10 * ROWS_PER_STATEMENT;

/// Passwords are not to be written to a temporary file, and an exclusive lock is not to be taken before the end (which
/// is what a cache that spills does outside WAL mode).
pub(super) async fn stage(
    connection: &mut SqliteConnection,
    rows: &[NodeRow],
    meter: &mut Meter<'_>,
) -> Result<(), sqlx::Error> {
    for statement in [
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_spill = OFF",
        "CREATE TEMP TABLE credgate_staged (node_id TEXT NOT NULL PRIMARY KEY, password TEXT, enabled INTEGER, line INTEGER) \
         WITHOUT ROWID",
        // One transaction for all of it: the temporary table alone, nothing of the file is locked.
        "BEGIN",
    ] {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
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
                .bind(row.node_id.as_str().to_owned())
                .bind(row.password.as_ref().map(|password| password.expose().to_owned()))
                .bind(row.enabled)
                .bind(i64::try_from(row.line).unwrap_or(i64::MAX));
        }
        insert.execute(&mut *connection).await?;
    }
    sqlx::query("COMMIT").execute(&mut *connection).await?;
    meter(Progress::Rows { done: rows.len(), of: rows.len() });
    Ok(())
}
