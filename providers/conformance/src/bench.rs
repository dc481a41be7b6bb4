//! Where the checks get their stores from, and how they end.
//!
//! Every text a provider utters on the way is kept, to be searched for passwords at the end.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use credgate_provider::{Grammar, NodeIdRule, PasswordRule, Site};

use crate::{Made, NotApplicable, Row, Subject, trial::Trial};

/// Stands in every password of the suite that is not about a few special bytes.
pub(crate) const CANARY: &str = "canary";

/// `lookup.timeout` of the suite, and what a lookup is given that should succeed.
pub(crate) const PATIENT: Duration = Duration::from_secs(2);

/// What a lookup is given that is to run out of time.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// How far behind its deadline anything may end: a busy machine, not a waiting provider.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// How often a fact is looked at that nothing announces.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Why a check ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    Refused,
    NotApplicable(String),
    Failed(String),
}

impl Stop {
    pub(crate) fn failed(seen: impl Into<String>) -> Self {
        Self::Failed(seen.into())
    }
}

impl From<NotApplicable> for Stop {
    fn from(reason: NotApplicable) -> Self {
        Self::NotApplicable(reason.0.into())
    }
}

/// The subject, what it said so far, and the stores that are open.
pub(crate) struct Bench<'a> {
    subject: &'a dyn Subject,
    said: Arc<Mutex<Vec<String>>>,
    open: Mutex<Vec<Arc<Trial>>>,
    hung: AtomicBool,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(subject: &'a dyn Subject) -> Self {
        Self { subject, said: Arc::default(), open: Mutex::default(), hung: false.into() }
    }

    /// A store whose rows are right: the provider must open on it.
    pub(crate) async fn open(&self, rows: &[Row]) -> Result<Arc<Trial>, Stop> {
        self.make(rows).await.map_err(|stop| match stop {
            Stop::Refused => Stop::failed("the provider refused to start on rows that are right"),
            other => other,
        })
    }

    /// A store whose rows may be wrong: the provider may refuse to start on it.
    pub(crate) async fn make(&self, rows: &[Row]) -> Result<Arc<Trial>, Stop> {
        match self.subject.make(rows, site()).await {
            Made::Impossible(reason) => Err(reason.into()),
            Made::Refused(text) => {
                locked(&self.said).push(text);
                Err(Stop::Refused)
            }
            Made::Open(store) => {
                locked(&self.said).push(store.provider().summary());
                let trial = Arc::new(Trial::new(store, Arc::clone(&self.said)));
                locked(&self.open).push(Arc::clone(&trial));
                Ok(trial)
            }
        }
    }

    /// Gives back the stores of a check. How a provider closes is judged by a check of its own.
    pub(crate) async fn clear(&self) {
        let open = std::mem::take(&mut *locked(&self.open));
        for trial in open {
            trial.store.heal().await;
            // Who hangs once is not waited for again: that is one finding, not one for each store.
            let time = if self.hung.load(Ordering::Relaxed) { Duration::ZERO } else { GRACE };
            if trial.close(time).await.is_err() {
                self.hung.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn said(&self) -> Vec<String> {
        locked(&self.said).clone()
    }
}

/// The suite judges in the wider grammar, which holds every node number too.
pub(crate) fn site() -> Site {
    Site {
        base: ".".into(),
        node_ids: NodeIdRule { grammar: Grammar::Token, max_length: Grammar::Token.longest() },
        passwords: PasswordRule::default(),
        lookup_timeout: PATIENT,
        lookup_slots: None,
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
