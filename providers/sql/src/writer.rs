//! The one connection that writes: of `migrate` and `import`, never of `serve`. Knows no dialect and no order of steps:
//! `schema` and `import` say what happens when. An operator stands before it and can interrupt it; only waits for others
//! are bounded, by the dialect.

use std::future::Future;

use sqlx::SqlStr;

use crate::import::{NodeRow, Progress};

/// How an import tells how far it is.
pub(crate) type Meter<'m> = dyn FnMut(Progress) + Send + 'm;

/// One connection, and a dialect's words for what is done on it. Errors are sentences for the operator. What has not been
/// committed when it closes, or is lost, has not been done.
pub(crate) trait Writer: Sized + Send {
    /// Counts in `credgate_staged`: all rows, those whose node is in `credgate_nodes`, those that are there exactly so.
    const COUNT: &'static str;
    /// Removes from `credgate_nodes` what is not staged.
    const REMOVE: &'static str;
    /// Writes into `credgate_nodes` what is staged and differs: an import of the same file again writes nothing at all.
    const WRITE: &'static str;
    /// Whether a CREATE TABLE is undone with its transaction.
    const UNDOES_TABLES: bool;

    /// The database in a sentence.
    fn name(&self) -> String;

    /// One phrase more for the operator: the server and its version, or the file and its journal mode.
    fn place(&mut self) -> impl Future<Output = String> + Send;

    /// What stands in `credgate_schema`: rows of (version, min_reader); none when there is no such table.
    fn versions(&mut self) -> impl Future<Output = Result<Vec<(i64, i64)>, String>> + Send;

    /// Waits for its turn among migrations and imports, where one waits for the other.
    fn turn(&mut self) -> impl Future<Output = Result<(), String>> + Send;

    /// Makes the temporary table `credgate_staged` (node_id, password, enabled, line) and fills it. Passwords stand in no
    /// file that outlives it.
    fn stage(&mut self, rows: &[NodeRow], meter: &mut Meter<'_>) -> impl Future<Output = Result<(), String>> + Send;

    /// Begins the transaction that writes, unless it has begun. Until its end nobody else writes.
    fn begin(&mut self) -> impl Future<Output = Result<(), String>> + Send;

    /// Runs statements without parameters; how many rows they changed.
    fn run(&mut self, sql: SqlStr) -> impl Future<Output = Result<u64, String>> + Send;

    /// Three numbers.
    fn three(&mut self, sql: &'static str) -> impl Future<Output = Result<(i64, i64, i64), String>> + Send;

    /// A column of line numbers.
    fn lines(&mut self, sql: &'static str) -> impl Future<Output = Result<Vec<i64>, String>> + Send;

    /// Says goodbye.
    fn close(self) -> impl Future<Output = ()> + Send;
}
