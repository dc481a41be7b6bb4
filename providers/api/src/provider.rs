//! The three traits of a provider's life, and what it is told about the gateway it lives in.

use std::{path::PathBuf, time::Duration};

pub use futures::future::BoxFuture;

use crate::{
    Deadline, NodeId, NodeIdRule, Number, OpenError, Password, PasswordRule, ProviderError, Report, Slot,
    settings::Section,
};

/// A kind of credential store: the word after `provider.kind` in the configuration.
pub trait Kind: Send + Sync {
    /// The word itself; also the name of the settings table, `[provider.<name>]`.
    fn name(&self) -> &'static str;

    /// Reads settings and local files, never network, database or an interpreter. Reports every problem it finds, and
    /// returns `None` when there was one that leaves nothing to open.
    fn prepare(&self, settings: &Section<'_>, site: &Site, report: &Report) -> Option<Box<dyn Prepared>>;
}

/// What a provider is told about the gateway it lives in.
#[derive(Clone, Debug)]
pub struct Site {
    /// Folder of the configuration file: relative paths start here.
    pub base: PathBuf,
    /// Which node IDs can be asked for.
    pub node_ids: NodeIdRule,
    /// Which stored passwords may be handed out.
    pub passwords: PasswordRule,
    /// `lookup.timeout`: no lookup is given more. Server-side bounds of a provider are derived from it.
    pub lookup_timeout: Duration,
    /// `lookup.slots`, where it is set: how many lookups will run at once.
    pub lookup_slots: Option<usize>,
}

/// A provider whose settings and local files are known to be good.
pub trait Prepared: Send {
    /// How many lookups it can run at once: the default and the most of `lookup.slots`. At least 1.
    fn slots(&self) -> usize;

    /// Opens it on the lookup runtime, until `deadline` (`provider.open_timeout`) at the latest.
    fn open(self: Box<Self>, deadline: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>>;
}

/// An open credential store.
pub trait Provider: Send + Sync + 'static {
    /// Answers with the password of `node`, or `None` when there is no such node or it is disabled.
    ///
    /// The caller stops waiting at `deadline` and may drop the future at any time. Work that goes on after that keeps
    /// `slot`, and drops it when it has really ended: that is how the gateway knows what is still running.
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>>;

    /// Whether lookups could be answered now. Never waits behind lookups, and shows no node's password to anybody.
    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>>;

    /// Gives back what it holds. Called once, after the last lookup has ended or was given up; bounded by the caller.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// One phrase for the log once it is open, e.g. `40000 nodes from nodes.csv`. Never a secret.
    fn summary(&self) -> String;

    /// Numbers of its own for the metrics page: from memory, at once, always the same ones in the same order. Asked once a
    /// second, on the lookup runtime.
    fn numbers(&self) -> Vec<Number> {
        Vec::new()
    }
}
