//! Flat latency in an outage: when the backend is known not to answer, lookups are told so at once.
//!
//! It begins after [`IN_A_ROW`] lookups in a row that ended unavailable or timed out, or with the first such one after a
//! failed check. While it lasts, [`TRIALS`] lookups at a time go through; the first that the backend answers ends it. A
//! failed check alone refuses nobody, and a lookup that ran into its own client's deadline says nothing about the
//! backend: neither a slow check nor a registrar with tiny timeouts can make an outage.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use credgate_provider::{Deadline, ProviderError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Failures in a row that make an outage: more than one lost connection, fewer than anybody notices.
pub const IN_A_ROW: u32 = 5;

/// Lookups at a time that try whether it is over.
pub const TRIALS: usize = 2;

/// The backend is known not to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage;

/// Permission to ask the backend.
#[derive(Debug)]
pub struct Turn {
    /// Held by a trial until it has ended.
    trial: Option<OwnedSemaphorePermit>,
}

/// What is known of the backend from the endings of lookups and checks.
#[derive(Debug)]
pub struct Watchdog {
    on: AtomicBool,
    failures: AtomicU32,
    check_failed: AtomicBool,
    trials: Arc<Semaphore>,
    check_wanted: Notify,
}

/// What an ending says about the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It answered.
    Well,
    /// It did not.
    Ill,
    /// The provider answered for it with a defect: no failure to answer, and no proof that it is back.
    Odd,
    /// The client gave it too little time.
    Nothing,
}

impl Default for Watchdog {
    /// Nothing is known yet: no outage.
    fn default() -> Self {
        Self {
            on: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            check_failed: AtomicBool::new(false),
            trials: Arc::new(Semaphore::new(TRIALS)),
            check_wanted: Notify::new(),
        }
    }
}

impl Watchdog {
    /// Whether lookups are refused at once.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Lets a lookup through, as a trial while an outage lasts.
    pub fn admit(&self) -> Result<Turn, Outage> {
        if !self.is_on() {
            return Ok(Turn { trial: None });
        }
        Arc::clone(&self.trials).try_acquire_owned().map(|permit| Turn { trial: Some(permit) }).map_err(|_| Outage)
    }

    /// The same for a lookup that has waited since: an outage may have begun meanwhile.
    pub fn confirm(&self, turn: Turn) -> Result<Turn, Outage> {
        if turn.trial.is_some() { Ok(turn) } else { self.admit() }
    }

    /// A lookup has ended. One that was left by its caller has not, and is not told here.
    pub fn looked_up<T>(&self, result: &Result<T, ProviderError>, deadline: Deadline) {
        match sign(result, deadline) {
            Sign::Well => {
                self.failures.store(0, Ordering::Relaxed);
                if self.on.swap(false, Ordering::Relaxed) {
                    tracing::info!("backend answers again: outage over");
                    self.check_wanted.notify_one();
                }
            }
            Sign::Ill => {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                let enough = failures >= IN_A_ROW || self.check_failed.load(Ordering::Relaxed);
                if enough && !self.on.swap(true, Ordering::Relaxed) {
                    tracing::warn!(failures, "backend does not answer: lookups are refused at once, but for trials");
                }
                self.check_wanted.notify_one();
            }
            Sign::Odd => self.failures.store(0, Ordering::Relaxed),
            Sign::Nothing => {}
        }
    }

    /// A check has ended.
    pub fn checked(&self, good: bool) {
        self.check_failed.store(!good, Ordering::Relaxed);
    }

    /// Ends when a lookup has seen something that a check should look at now.
    pub async fn check_wanted(&self) {
        self.check_wanted.notified().await;
    }
}

fn sign<T>(result: &Result<T, ProviderError>, deadline: Deadline) -> Sign {
    match result {
        Ok(_) | Err(ProviderError::Corrupt(_)) => Sign::Well,
        Err(ProviderError::Defect(_)) => Sign::Odd,
        Err(ProviderError::TimedOut(_)) if deadline.client_bound() => Sign::Nothing,
        // A provider may call its own waiting, cut short by the deadline, unavailable.
        Err(ProviderError::Unavailable(_)) if deadline.client_bound() && deadline.passed() => Sign::Nothing,
        Err(ProviderError::Unavailable(_) | ProviderError::TimedOut(_)) => Sign::Ill,
    }
}

#[cfg(test)]
mod tests;
