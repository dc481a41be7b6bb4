//! How `credgate import` stages rows in PostgreSQL: COPY into a temporary table of the transaction. From its end on other
//! writers of `credgate_nodes` wait; readers never do.

use std::fmt::Write as _;

use credgate_provider::Password;
use sqlx::{Executor, PgConnection};
use zeroize::Zeroizing;

use crate::{
    import::{NodeRow, Progress},
    writer::Meter,
};

pub(super) const COUNT: &str = "SELECT count(*), count(node.node_id), count(*) FILTER (WHERE node.node_id IS NOT NULL \
    AND staged.password IS NOT DISTINCT FROM node.password AND staged.enabled = node.enabled) \
    FROM credgate_staged AS staged LEFT JOIN credgate_nodes AS node USING (node_id)";
pub(super) const REMOVE: &str = "DELETE FROM credgate_nodes AS node WHERE NOT EXISTS \
    (SELECT FROM credgate_staged AS staged WHERE staged.node_id = node.node_id)";
pub(super) const WRITE: &str = "INSERT INTO credgate_nodes (node_id, password, enabled) \
    SELECT node_id, password, enabled FROM credgate_staged ORDER BY node_id \
    ON CONFLICT (node_id) DO UPDATE SET password = excluded.password, enabled = excluded.enabled \
    WHERE credgate_nodes.password IS DISTINCT FROM excluded.password OR credgate_nodes.enabled <> excluded.enabled";

/// Rows between two calls of the meter: some hundred kilobytes in one message.
const ROWS_PER_CALL: usize = 10_000;

pub(super) async fn stage(
    connection: &mut PgConnection,
    rows: &[NodeRow],
    meter: &mut Meter<'_>,
) -> Result<(), sqlx::Error> {
    connection
        .execute(
            "CREATE TEMPORARY TABLE credgate_staged (node_id text COLLATE \"C\" NOT NULL, password text COLLATE \"C\", \
             enabled boolean NOT NULL, line bigint NOT NULL) ON COMMIT DROP",
        )
        .await?;
    let mut copy = connection.copy_in_raw("COPY credgate_staged FROM STDIN").await?;
    for (index, piece) in rows.chunks(ROWS_PER_CALL).enumerate() {
        meter(Progress::Rows { done: index * ROWS_PER_CALL, of: rows.len() });
        let text = Zeroizing::new(text(piece));
        copy.send(text.as_bytes()).await?;
    }
    copy.finish().await?;
    connection.execute("ANALYZE credgate_staged").await?;
    // A transaction alone would let others write between the comparison and the commit.
    connection.execute("LOCK TABLE credgate_nodes IN SHARE ROW EXCLUSIVE MODE").await?;
    meter(Progress::Rows { done: rows.len(), of: rows.len() });
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
