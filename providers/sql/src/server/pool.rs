//! Idle connections, and which of them are still good. What comes back is whole; the rest is closed.
//!
//! A generation ends when a connection proves dead: the others were opened before the same event, so none of them is used
//! again. An age, with jitter, ends each of them in time: a name that leads elsewhere, or a server that took over, is
//! then noticed without any failure.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::Link;

pub(super) struct Pool<L: Link> {
    generation: AtomicU64,
    max_age: Duration,
    /// `None` once retired.
    idle: Mutex<Option<Vec<Pooled<L>>>>,
}

/// A connection and its papers.
pub(super) struct Pooled<L: Link> {
    link: L,
    generation: u64,
    retires: Instant,
    used: Instant,
}

/// An idle connection that is asked before it is used: at a lower rate than one per second the round trip is cheap.
const RESTED: Duration = Duration::from_secs(1);
/// An idle connection is closed: firewalls forget a silent one after minutes, and say nothing.
const IDLE: Duration = Duration::from_secs(60);

impl<L: Link> Pool<L> {
    pub(super) fn new(max_age: Duration) -> Self {
        Self { generation: AtomicU64::new(0), max_age, idle: Mutex::new(Some(Vec::new())) }
    }

    /// Takes a fresh connection into account.
    pub(super) fn adopt(&self, link: L) -> Pooled<L> {
        let generation = self.generation.load(Ordering::Acquire);
        let now = Instant::now();
        Pooled { link, generation, retires: now + jitter(self.max_age), used: now }
    }

    pub(super) fn is_good(&self, pooled: &Pooled<L>) -> bool {
        pooled.generation == self.generation.load(Ordering::Acquire) && pooled.retires > Instant::now()
    }

    /// The connection that was used last, if one is idle.
    pub(super) fn take(&self) -> Option<Pooled<L>> {
        loop {
            let pooled = self.with(|idle| idle.as_mut()?.pop())?;
            if self.is_good(&pooled) {
                return Some(pooled);
            }
            pooled.close_soon();
        }
    }

    pub(super) fn give_back(&self, mut pooled: Pooled<L>) {
        pooled.used = Instant::now();
        if !self.is_good(&pooled) {
            return pooled.close_soon();
        }
        let rejected = self.with(|idle| match idle {
            Some(idle) => {
                idle.push(pooled);
                None
            }
            None => Some(pooled),
        });
        if let Some(pooled) = rejected {
            pooled.close_soon();
        }
    }

    pub(super) fn idle(&self) -> usize {
        self.with(|idle| idle.as_ref().map_or(0, Vec::len))
    }

    /// Ends the generation.
    pub(super) fn suspect(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let idle = self.with(|idle| idle.as_mut().map(std::mem::take));
        // Nobody may be listening at the other end.
        drop(idle);
    }

    /// Closes what is too old, or has been idle for too long.
    pub(super) fn trim(&self) {
        let now = Instant::now();
        let stale = |pooled: &Pooled<L>| !self.is_good(pooled) || now.duration_since(pooled.used) > IDLE;
        let closing: Vec<_> = self
            .with(|idle| idle.as_mut().map(|idle| idle.extract_if(.., |pooled| stale(pooled)).collect()))
            .unwrap_or_default();
        closing.into_iter().for_each(Pooled::close_soon);
    }

    /// From now on nothing is kept. Returns what was idle.
    pub(super) fn retire(&self) -> Vec<Pooled<L>> {
        self.with(Option::take).unwrap_or_default()
    }

    fn with<T>(&self, change: impl FnOnce(&mut Option<Vec<Pooled<L>>>) -> T) -> T {
        change(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<L: Link> Pooled<L> {
    pub(super) fn has_rested(&self) -> bool {
        self.used.elapsed() > RESTED
    }

    /// Says goodbye, so that the server's log does not fill with lost connections; waits for nobody.
    pub(super) fn close_soon(self) {
        tokio::spawn(tokio::time::timeout(RESTED, self.close()));
    }

    pub(super) async fn close(self) {
        self.link.close().await;
    }
}

impl<L: Link> Deref for Pooled<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.link
    }
}

impl<L: Link> DerefMut for Pooled<L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.link
    }
}

/// `time` ± 20 %.
pub(super) fn jitter(time: Duration) -> Duration {
    // Without randomness from the system everything else would have failed before.
    let chance = getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX));
    time.mul_f64(0.8 + 0.4 * chance)
}
