//! What a provider's tests supply: stores with given rows, and what can be done to them.

use credgate_provider::{BoxFuture, Provider, Site};

/// One row of a store, right or wrong. How it is stored is the subject's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The node ID; several rows may have the same.
    pub node_id: String,
    /// The password's bytes, which need be no text; `None` is NULL or whatever stands for an absent value.
    pub password: Option<Vec<u8>>,
    /// The word in the enabled column, e.g. `true`; `None` is NULL.
    pub enabled: Option<String>,
}

impl Row {
    /// An enabled node.
    pub fn new(node_id: &str, password: &str) -> Self {
        Self { node_id: node_id.into(), password: Some(password.into()), enabled: Some("true".into()) }
    }

    /// The same with another word, or NULL, for enabled.
    pub fn with_enabled(self, enabled: Option<&str>) -> Self {
        Self { enabled: enabled.map(Into::into), ..self }
    }

    /// The same with another stored password, or NULL.
    pub fn with_password(self, password: Option<&[u8]>) -> Self {
        Self { password: password.map(Into::into), ..self }
    }
}

/// A provider to be judged.
pub trait Subject: Send + Sync {
    /// Its name, for the verdict.
    fn name(&self) -> String;

    /// Makes a new store with exactly these rows, in this order, and opens the provider on it. `site` says what the
    /// gateway would; only its `base` is the subject's to choose.
    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made>;
}

/// What came of making a store.
pub enum Made {
    /// The provider is open.
    Open(Box<dyn Store>),
    /// The provider refused to start on these rows, with this text.
    Refused(String),
    /// A store of this kind cannot hold these rows.
    Impossible(NotApplicable),
}

/// A store with a provider open on it. The three things that can be done to it are optional: what a store cannot do
/// makes the checks that need it not applicable, with the reason given.
pub trait Store: Send + Sync {
    /// The provider.
    fn provider(&self) -> &dyn Provider;

    /// How many lookups it runs at once ([`credgate_provider::Prepared::slots`]).
    fn slots(&self) -> usize;

    /// Replaces all rows while the provider is open.
    fn change<'a>(&'a self, _rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        Box::pin(async { Err(NotApplicable("its rows cannot change while it is open")) })
    }

    /// Begins a disturbance; it lasts until [`Store::heal`].
    fn disturb(&self, _how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        Box::pin(async { Err(NotApplicable("it cannot be disturbed")) })
    }

    /// Ends every disturbance. Called without one, too.
    fn heal(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// How many lookups the backend is working on right now, if it can be seen from outside the provider.
    fn running(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { None })
    }
}

/// What can happen to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// It refuses at once: connections are rejected, the file is gone.
    Refusing,
    /// It takes requests and never answers, checks included: a black hole.
    Silent,
    /// Lookups wait, as behind a lock; a check does not.
    Busy,
}

/// Why a check says nothing about a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotApplicable(pub &'static str);

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(_) => f.write_str("Open"),
            Self::Refused(text) => f.debug_tuple("Refused").field(text).finish(),
            Self::Impossible(reason) => f.debug_tuple("Impossible").field(reason).finish(),
        }
    }
}
