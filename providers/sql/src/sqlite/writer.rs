//! The one connection that writes: of `migrate` and `import`, never of `serve`. An operator stands before it and can
//! interrupt it; only the waits for other programs are bounded.

use std::{path::Path, time::Duration};

use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{
    fault::{self, Fault},
    file,
};

/// How long `migrate` and `import` wait for another program's lock: longer than any sensible write transaction.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Opens an existing file for writing.
pub(crate) async fn open(path: &Path) -> Result<SqliteConnection, String> {
    if let Err(error) = tokio::fs::metadata(path).await {
        return Err(file::missing(path, &error));
    }
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(PATIENCE)
        .disable_statement_logging()
        .connect()
        .await
        .map_err(|error| sentence(&error, path))
}

/// An error of a statement that writes.
pub(crate) fn sentence(error: &sqlx::Error, path: &Path) -> String {
    let shown = path.display();
    match Fault::of(error, path) {
        Fault::Locked(text) => format!("{text}, for longer than {} seconds", PATIENCE.as_secs()),
        Fault::Late => format!("{shown}: interrupted"),
        Fault::Refused(_) if fault::is_read_only(error) => {
            let folder = path.parent().unwrap_or(path).display();
            format!(
                "{shown} cannot be written: this user needs write permission on the file and on its folder {folder}"
            )
        }
        Fault::Refused(text) => text,
    }
}
