//! One open store and how it is asked: as the gateway would, with a deadline and a slot that tells when it comes back.

use std::{
    fmt::Debug,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use credgate_provider::{Deadline, NodeId, Password, ProviderError, Slot};
use tokio::{sync::watch, time::timeout};

use crate::{
    Disturbance, Store,
    bench::{GRACE, PATIENT, SHORT, Stop, locked, site},
};

/// A store that is being judged.
pub(crate) struct Trial {
    pub(crate) store: Box<dyn Store>,
    said: Arc<Mutex<Vec<String>>>,
    closed: AtomicBool,
}

impl Trial {
    pub(crate) fn new(store: Box<dyn Store>, said: Arc<Mutex<Vec<String>>>) -> Self {
        Self { store, said, closed: false.into() }
    }

    /// Asks, as the gateway does, and waits for the answer; it must come by the deadline.
    pub(crate) async fn ask(
        &self,
        node: &str,
        time: Duration,
    ) -> Result<Result<Option<Password>, ProviderError>, Stop> {
        let node = node_id(node)?;
        let (slot, _watch) = watched();
        self.answer(self.store.provider().lookup(&node, Deadline::after(time), slot), time).await
    }

    /// Waits for the answer of a lookup that was given `time` from now.
    pub(crate) async fn answer(
        &self,
        lookup: impl Future<Output = Result<Option<Password>, ProviderError>>,
        time: Duration,
    ) -> Result<Result<Option<Password>, ProviderError>, Stop> {
        let answer = timeout(time + GRACE, lookup)
            .await
            .map_err(|_| Stop::Failed(format!("a lookup did not end {GRACE:?} after its deadline")))?;
        self.heard(&answer);
        Ok(answer)
    }

    /// The node must have exactly this password.
    pub(crate) async fn expect_password(&self, node: &str, password: &str) -> Result<(), Stop> {
        match self.ask(node, PATIENT).await? {
            Ok(Some(found)) if found.expose() == password => Ok(()),
            Ok(Some(_)) => Err(Stop::Failed(format!("{node}: another password than the stored one"))),
            answer => Err(Stop::Failed(format!("{node}: {}, not its password", describe(&answer)))),
        }
    }

    /// The node must be unknown or disabled.
    pub(crate) async fn expect_none(&self, node: &str) -> Result<(), Stop> {
        match self.ask(node, PATIENT).await? {
            Ok(None) => Ok(()),
            answer => Err(Stop::Failed(format!("{node}: {}, not None", describe(&answer)))),
        }
    }

    /// The node's record must be told to be corrupt.
    pub(crate) async fn expect_corrupt(&self, node: &str) -> Result<(), Stop> {
        match self.ask(node, PATIENT).await? {
            Err(ProviderError::Corrupt(_)) => Ok(()),
            answer => Err(Stop::Failed(format!("{node}: {}, not Corrupt", describe(&answer)))),
        }
    }

    /// The backend must be told to be out of reach, in time.
    pub(crate) async fn expect_outage(&self, node: &str) -> Result<(), Stop> {
        match self.ask(node, SHORT).await? {
            Err(ProviderError::Unavailable(_) | ProviderError::TimedOut(_)) => Ok(()),
            answer => Err(Stop::Failed(format!("{node}: {}, not Unavailable or TimedOut", describe(&answer)))),
        }
    }

    /// Runs the provider's check; it must end by its deadline.
    pub(crate) async fn check(&self, time: Duration) -> Result<Result<(), ProviderError>, Stop> {
        let result = timeout(time + GRACE, self.store.provider().check(Deadline::after(time)))
            .await
            .map_err(|_| Stop::Failed(format!("a check did not end {GRACE:?} after its deadline")))?;
        self.heard(&result);
        Ok(result)
    }

    /// Closes the provider, once.
    pub(crate) async fn close(&self, time: Duration) -> Result<(), Stop> {
        if self.closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let closed = timeout(time, self.store.provider().close()).await;
        closed.map_err(|_| Stop::Failed(format!("it did not within {time:?}")))
    }

    pub(crate) async fn disturb(&self, how: Disturbance) -> Result<(), Stop> {
        Ok(self.store.disturb(how).await?)
    }

    /// Starts a lookup and looks on for a moment; it must be waiting then.
    pub(crate) async fn wait_in<F>(&self, lookup: &mut Pin<Box<F>>) -> Result<(), Stop>
    where
        F: Future<Output = Result<Option<Password>, ProviderError>> + ?Sized,
    {
        match timeout(SHORT / 2, lookup).await {
            Err(_) => Ok(()),
            Ok(answer) => {
                self.heard(&answer);
                Err(Stop::NotApplicable("its lookups do not wait".into()))
            }
        }
    }

    fn heard<T: Debug>(&self, result: &Result<T, ProviderError>) {
        let text = match result {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        locked(&self.said).push(text);
    }
}

/// A node ID of the suite's grammar.
pub(crate) fn node_id(node: &str) -> Result<NodeId, Stop> {
    site().node_ids.parse(node).map_err(|error| Stop::Failed(format!("the suite asks for {node:?}: {error}")))
}

/// Tells whether a slot was given back.
pub(crate) struct SlotWatch(watch::Receiver<()>);

/// A slot, and who watches it.
pub(crate) fn watched() -> (Slot, SlotWatch) {
    let (held, watch) = watch::channel(());
    (Slot::new(held), SlotWatch(watch))
}

impl SlotWatch {
    pub(crate) fn is_held(&self) -> bool {
        self.0.has_changed().is_ok()
    }

    pub(crate) async fn expect_back(&mut self, time: Duration) -> Result<(), Stop> {
        // Nothing is ever sent: it ends when the sender in the slot is gone.
        let back = timeout(time, self.0.changed()).await.is_ok();
        if back { Ok(()) } else { Err(Stop::Failed(format!("the slot was still held after {time:?}"))) }
    }
}

/// What a lookup came to, without its password.
pub(crate) fn describe(answer: &Result<Option<Password>, ProviderError>) -> &'static str {
    match answer {
        Ok(None) => "None",
        Ok(Some(_)) => "a password",
        Err(ProviderError::Unavailable(_)) => "Unavailable",
        Err(ProviderError::TimedOut(_)) => "TimedOut",
        Err(ProviderError::Corrupt(_)) => "Corrupt",
        Err(ProviderError::Defect(_)) => "Defect",
    }
}
