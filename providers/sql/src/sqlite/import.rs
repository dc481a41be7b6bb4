//! How `credgate import` stages rows in SQLite: in a temporary table in memory.

use credgate_provider::Password;
use rusqlite::{Connection, params};

use crate::import::NodeRow;

pub(super) const COUNT: &str = "SELECT count(*), count(node.node_id), \
    coalesce(sum(node.node_id IS NOT NULL AND staged.password IS node.password AND staged.enabled = node.enabled), 0) \
    FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)";
pub(super) const REMOVE: &str = "DELETE FROM credgate_nodes WHERE node_id NOT IN (SELECT node_id FROM credgate_staged)";
pub(super) const WRITE: &str = "INSERT INTO credgate_nodes (node_id, password, enabled) \
    SELECT node_id, password, enabled FROM credgate_staged WHERE true ORDER BY node_id \
    ON CONFLICT (node_id) DO UPDATE SET password = excluded.password, enabled = excluded.enabled \
    WHERE credgate_nodes.password IS NOT excluded.password OR credgate_nodes.enabled <> excluded.enabled";

/// Rows between two calls of the meter.
pub(super) const ROWS_PER_CALL: usize = 10_000;

/// Makes the table. Passwords are not to be written to a temporary file, and an exclusive lock is not to be taken before the
/// end (which is what a cache that spills does outside WAL mode). One transaction for all rows: the temporary table alone,
/// nothing of the file is locked.
pub(super) const BEGIN: &str = "PRAGMA temp_store = MEMORY; PRAGMA cache_spill = OFF; \
    CREATE TEMP TABLE credgate_staged (node_id TEXT NOT NULL PRIMARY KEY, password TEXT, enabled INTEGER, line INTEGER) \
    WITHOUT ROWID; BEGIN";

pub(super) fn stage(connection: &Connection, rows: &[NodeRow]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO credgate_staged VALUES (?, ?, ?, ?)")?;
    for row in rows {
        let password = row.password.as_ref().map(Password::expose);
        let line = i64::try_from(row.line).unwrap_or(i64::MAX);
        insert.execute(params![row.node_id.as_str(), password, row.enabled, line])?;
    }
    Ok(())
}
