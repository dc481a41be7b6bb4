//! The one connection that writes: of `migrate` and `import`, never of `serve`. An operator stands before it and can
//! interrupt it; only waiting for others is bounded.

use std::time::Duration;

use sqlx::{Connection as _, Executor, PgConnection, SqlStr};
use tokio::time::timeout;

use super::{Connection, fault};
use crate::{
    server::{Fault, Link},
    url::Server,
};

/// How long the login may take.
const LOGIN: Duration = Duration::from_secs(30);

/// Logs in; a lock of another program is then waited for 60 s at most, longer than any sensible write transaction.
pub(super) async fn open(server: &Server) -> Result<PgConnection, String> {
    let opened = async {
        let mut connection = Connection::connect(&Connection::access(server, None)).await?.inner;
        let set = SqlStr::from_static("SET lock_timeout = 60000");
        connection.execute(set).await.map_err(|error| fault::of(&error))?;
        Ok(connection)
    };
    match timeout(LOGIN, opened).await {
        Ok(opened) => opened.map_err(|fault: Fault| fault.to_string()),
        Err(_) => Err(Fault::Unanswered.to_string()),
    }
}

/// Says goodbye: what counts has been committed or not.
pub(super) async fn close(connection: PgConnection) {
    let _ = timeout(Duration::from_secs(1), connection.close()).await;
}

/// An error of a statement that writes.
pub(super) fn sentence(error: &sqlx::Error) -> String {
    match fault::told(error) {
        Some((code, _)) if code == "55P03" => {
            "another program holds a lock on credgate's tables, for longer than 60 seconds".to_owned()
        }
        Some((code, message)) if code == "42501" => {
            format!("{message}: use the role that owns the tables (--url-file)")
        }
        Some((code, _)) if code == "25006" => "the server only reads; is it a standby?".to_owned(),
        Some((code, _)) if code == "23505" => "another program added one of the nodes at the same time".to_owned(),
        _ => fault::of(error).to_string(),
    }
}
