//! The provider as the gateway sees it: bounded by the deadline, and unable to take anything else down.
//!
//! A provider that panics or does not answer is an error like any other here, and a backend that is known not to answer
//! is not waited for ([`Watchdog`]).

mod outage;

pub use outage::{Outage, Turn, Watchdog};

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use credgate_provider::{BoxFuture, Deadline, NodeId, Number, Password, Provider, ProviderError, Slot};
use futures::FutureExt as _;

use crate::within::within;

/// An open provider.
pub struct Backend {
    provider: Arc<dyn Provider>,
    watchdog: Watchdog,
}

impl Backend {
    /// Takes an open provider.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, watchdog: Watchdog::default() }
    }

    /// What is known of the backend.
    pub fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Looks a node up, until `deadline` at the latest. `slot` stays with the work.
    pub async fn lookup(
        &self,
        node: &NodeId,
        deadline: Deadline,
        turn: Turn,
        slot: Slot,
    ) -> Result<Option<Password>, ProviderError> {
        let result = contained(deadline, || self.provider.lookup(node, deadline, slot)).await;
        self.watchdog.looked_up(&result, deadline);
        drop(turn);
        result
    }

    /// Asks the provider whether lookups could be answered now.
    pub async fn check(&self, deadline: Deadline) -> Result<(), ProviderError> {
        let result = contained(deadline, || self.provider.check(deadline)).await;
        self.watchdog.checked(result.is_ok());
        result
    }

    /// What the provider says of itself, for the log.
    pub fn summary(&self) -> String {
        self.provider.summary()
    }

    /// The provider's own numbers, for the metrics; none when it panics.
    pub fn numbers(&self) -> Vec<Number> {
        catch_unwind(AssertUnwindSafe(|| self.provider.numbers())).unwrap_or_default()
    }

    /// Closes the provider; a panic in it is only logged, since nothing depends on it any more.
    pub async fn close(&self) {
        if AssertUnwindSafe(async { self.provider.close().await }).catch_unwind().await.is_err() {
            tracing::error!("the provider panicked while closing");
        }
    }
}

/// Runs a provider's future under a deadline, and turns a panic, in making it or in polling it, into a defect.
async fn contained<'a, T>(
    deadline: Deadline,
    start: impl FnOnce() -> BoxFuture<'a, Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    let work = AssertUnwindSafe(async { start().await }).catch_unwind();
    match within(deadline, work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(ProviderError::Defect("the provider panicked".into())),
        Err(_) => Err(ProviderError::TimedOut("no answer within the deadline".into())),
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("watchdog", &self.watchdog).finish_non_exhaustive()
    }
}
