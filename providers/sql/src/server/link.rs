//! What a dialect must be able to do: one connection, from the login to the goodbye. No bound here: whoever calls has one.

use std::{future::Future, time::Duration};

use credgate_provider::NodeId;
use sqlx::SqlStr;

use super::Fault;
use crate::{record::Matches, url::Server};

/// A statement whose columns are node_id, password and, if there is one, enabled.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) sql: SqlStr,
    pub(crate) with_enabled: bool,
}

/// The node ID of queries that prove that a query runs. It fits every grammar, so a query that works for nodes works for
/// it; should it be a node, its row is not looked at.
pub(crate) const ANYBODY: &str = "0";

/// One connection.
pub(crate) trait Link: Sized + Send + Sync + 'static {
    /// How to reach the server. Holds a password: shows itself to nobody.
    type Access: Send + Sync + 'static;

    /// What `serve` reads with: the server is to end each statement after `statement_timeout`, and to refuse writes.
    /// Without one: what `migrate` and `import` write with.
    fn access(server: &Server, statement_timeout: Option<Duration>) -> Self::Access;

    /// Logs in.
    fn connect(access: &Self::Access) -> impl Future<Output = Result<Self, Fault>> + Send;

    /// The statement to run: credgate's own, or the operator's wrapped and made sure of.
    fn settle(&mut self, configured: Option<&str>) -> impl Future<Output = Result<Query, Fault>> + Send;

    /// Makes sure that lookups can be answered: the version of credgate's schema, where it is used, and one run. Returns
    /// whether there is a node; of an operator's query nothing else can be known.
    fn prove(&mut self, query: &Query, own_schema: bool) -> impl Future<Output = Result<bool, Fault>> + Send;

    /// Asks for the rows of one node.
    fn rows(&mut self, query: &Query, node: &NodeId) -> impl Future<Output = Result<Matches, Fault>> + Send;

    /// Whether the server answers at all.
    fn ping(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Name and version of the server, for people.
    fn version(&mut self) -> impl Future<Output = Result<String, Fault>> + Send;

    /// Says goodbye.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// What is wrong with the operator's query.
pub(crate) fn unsuitable(text: impl std::fmt::Display) -> Fault {
    Fault::Query(text.to_string())
}
