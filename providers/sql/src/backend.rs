//! One enum over the databases. Every dialect keeps the same promises in its own way: work ends at its bound, a
//! connection that was interrupted is closed and never used again, a check waits behind no lookup.

use std::sync::Arc;

use credgate_provider::{Detail, NodeId, Password, PasswordRule, ProviderError, Slot};

use crate::{mysql, postgres, server, settings::Settings, sqlite, task::Bound, url::Location};

/// An open database.
pub(crate) enum Backend {
    Sqlite(Arc<sqlite::Backend>),
    Postgres(Arc<server::Backend<postgres::Connection>>),
    MySql(Arc<server::Backend<mysql::Connection>>),
}

/// Connections for lookups; that of the checks is not among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) most: usize,
    pub(crate) busy: usize,
    pub(crate) idle: usize,
}

/// Why a database was not opened.
pub(crate) enum Refusal {
    /// It cannot be reached, refuses us, or is not what we need: somebody else can mend that, without a change of ours.
    Store(Detail),
    /// The operator's query will not do.
    Query(Detail),
}

impl Backend {
    /// Connects, and makes sure that lookups can be answered: schema or query, and one run of it.
    pub(crate) async fn open(settings: &Settings, bound: Bound) -> Result<Self, Refusal> {
        match settings.database.location() {
            Location::Sqlite(path) => {
                let backend = sqlite::Backend::open(path, settings, bound).await?;
                Ok(Self::Sqlite(Arc::new(backend)))
            }
            Location::Postgres(server) => {
                Ok(Self::Postgres(Arc::new(server::Backend::open(server, settings, bound).await?)))
            }
            Location::MySql(server) => Ok(Self::MySql(Arc::new(server::Backend::open(server, settings, bound).await?))),
        }
    }

    /// Looks `node` up. Dropping the future leaves the work, and with it the slot, to end by itself.
    pub(crate) async fn lookup(
        &self,
        node: &NodeId,
        rule: PasswordRule,
        bound: Bound,
        slot: Slot,
    ) -> Result<Option<Password>, ProviderError> {
        match self {
            Self::Sqlite(backend) => backend.lookup(node, rule, bound, slot).await,
            Self::Postgres(backend) => backend.lookup(node, rule, bound, slot).await,
            Self::MySql(backend) => backend.lookup(node, rule, bound, slot).await,
        }
    }

    /// Whether lookups could be answered now.
    pub(crate) async fn check(&self, bound: Bound) -> Result<(), ProviderError> {
        match self {
            Self::Sqlite(backend) => backend.check(bound).await,
            Self::Postgres(backend) => backend.check(bound).await,
            Self::MySql(backend) => backend.check(bound).await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(backend) => backend.close().await,
            Self::Postgres(backend) => backend.close().await,
            Self::MySql(backend) => backend.close().await,
        }
    }

    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Sqlite(backend) => backend.summary(),
            Self::Postgres(backend) => backend.summary(),
            Self::MySql(backend) => backend.summary(),
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        match self {
            Self::Sqlite(backend) => backend.usage(),
            Self::Postgres(backend) => backend.usage(),
            Self::MySql(backend) => backend.usage(),
        }
    }
}
