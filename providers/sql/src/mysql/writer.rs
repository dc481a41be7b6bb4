//! The one connection that writes: of `migrate` and `import`, never of `serve`. An operator stands before it and can
//! interrupt it; only waiting for others is bounded.

use std::time::Duration;

use tokio::time::timeout;

use super::{Connection, fault};
use crate::{
    server::{Fault, Link},
    url::Server,
};

/// How long the login may take.
const LOGIN: Duration = Duration::from_secs(30);
/// How long another migration or import is waited for: longer than any sensible one.
const PATIENCE: u32 = 60;

/// Logs in.
pub(super) async fn open(server: &Server) -> Result<Connection, String> {
    match timeout(LOGIN, Connection::connect(&Connection::access(server, None))).await {
        Ok(opened) => opened.map_err(|fault: Fault| fault.to_string()),
        Err(_) => Err(Fault::Unanswered.to_string()),
    }
}

/// Waits for its turn among `migrate` and `import`. The turn ends with the connection.
pub(super) async fn turn(connection: &mut Connection) -> Result<(), String> {
    // The name holds for the whole server; another database of it waits too, which does no harm.
    let got: Option<i64> = sqlx::query_scalar("SELECT CAST(GET_LOCK('credgate', ?) AS SIGNED)")
        .bind(PATIENCE)
        .fetch_one(&mut connection.inner)
        .await
        .map_err(|error| sentence(&error))?;
    match got {
        Some(1) => Ok(()),
        _ => Err(format!("another migration or import has been running for longer than {PATIENCE} seconds")),
    }
}

/// Says goodbye: what counts has been committed or not.
pub(super) async fn close(connection: Connection) {
    let _ = timeout(Duration::from_secs(1), connection.close()).await;
}

/// An error of a statement that writes.
pub(super) fn sentence(error: &sqlx::Error) -> String {
    match fault::told(error) {
        Some((1205 | 1213, _)) => "another program holds a lock on credgate's tables".to_owned(),
        Some((1044 | 1142, _)) => {
            "the user may not create or change credgate's tables: use the one that owns them (--url-file)".to_owned()
        }
        Some((1290 | 1792 | 1836, _)) => "the server only reads; is it a replica?".to_owned(),
        Some((1062, _)) => "another program added one of the nodes at the same time".to_owned(),
        _ => fault::of(error).to_string(),
    }
}
