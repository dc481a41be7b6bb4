//! The provider contract on top of the backend: each lookup and check with its bound.

use std::time::Duration;

use credgate_provider::{
    BoxFuture, Deadline, NodeId, Number, OpenError, Password, PasswordRule, Prepared, Problem, Provider, ProviderError,
    Slot,
};
use futures::FutureExt;
use tokio::time::timeout_at;

use crate::{
    backend::{Backend, Refusal, Usage},
    settings::Settings,
    task::{Bound, NO_ANSWER},
};

/// Settings that are known to be good.
#[derive(Debug)]
pub(crate) struct PreparedSql {
    settings: Settings,
    passwords: PasswordRule,
}

struct SqlProvider {
    backend: Backend,
    passwords: PasswordRule,
    lookup_timeout: Duration,
}

impl PreparedSql {
    pub(crate) fn new(settings: Settings, passwords: PasswordRule) -> Self {
        Self { settings, passwords }
    }
}

impl Prepared for PreparedSql {
    fn slots(&self) -> usize {
        self.settings.max_connections
    }

    fn open(self: Box<Self>, deadline: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>> {
        async move {
            let bound = Bound::of(deadline, Duration::MAX);
            let opened = timeout_at(bound.answer, Backend::open(&self.settings, bound)).await;
            match opened {
                Ok(Ok(backend)) => Ok(Box::new(SqlProvider {
                    backend,
                    passwords: self.passwords,
                    lookup_timeout: self.settings.lookup_timeout,
                }) as Box<dyn Provider>),
                Ok(Err(Refusal::Store(why))) => Err(OpenError::Unavailable(why)),
                Ok(Err(Refusal::Query(why))) => Err(OpenError::Configuration(Problem {
                    place: self.settings.query_place.clone(),
                    text: why.to_string(),
                })),
                Err(_) => Err(OpenError::Unavailable(format!("{NO_ANSWER} (provider.open_timeout)").into())),
            }
        }
        .boxed()
    }
}

impl Provider for SqlProvider {
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        let bound = Bound::of(deadline, self.lookup_timeout);
        self.backend.lookup(node, self.passwords, bound, slot).boxed()
    }

    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        async move {
            let bound = Bound::of(deadline, Duration::MAX);
            let checked = timeout_at(bound.answer, self.backend.check(bound)).await;
            checked.unwrap_or_else(|_| Err(ProviderError::TimedOut(NO_ANSWER.into())))
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.backend.close().boxed()
    }

    fn summary(&self) -> String {
        self.backend.summary()
    }

    fn numbers(&self) -> Vec<Number> {
        let Usage { most, busy, idle } = self.backend.usage();
        vec![
            Number::gauge("connections_max", "Connections for lookups that there may be", most),
            Number::gauge("connections_in_use", "Connections that run a statement, or are being opened for one", busy),
            Number::gauge("connections_idle", "Open connections that wait for work", idle),
        ]
    }
}
