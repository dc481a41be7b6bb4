//! Which slots are taken, and until when the work in each should have ended.
//!
//! Written twice per lookup and read twice a second, so writing is what must be cheap: a stack of free numbers under a
//! short lock, and one atomic per slot.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use credgate_provider::Deadline;
use tokio::time::Instant;

/// Every slot of a gateway.
#[derive(Debug)]
pub struct Desk {
    origin: Instant,
    free: Mutex<Vec<usize>>,
    /// Milliseconds from `origin` to the deadline of the work in each slot; [`FREE`] where there is none.
    due: Box<[AtomicU64]>,
}

/// One taken slot.
#[derive(Debug)]
pub struct Place {
    desk: Arc<Desk>,
    /// `None` when more work than slots is under way, which the permits rule out.
    number: Option<usize>,
}

const FREE: u64 = u64::MAX;

impl Desk {
    pub fn new(total: usize) -> Self {
        Self {
            origin: Instant::now(),
            free: Mutex::new((0..total).collect()),
            due: (0..total).map(|_| AtomicU64::new(FREE)).collect(),
        }
    }

    pub fn total(&self) -> usize {
        self.due.len()
    }

    /// Takes a free slot for work that should end at `deadline`.
    pub fn take(self: &Arc<Self>, deadline: Deadline) -> Place {
        let number = self.free().pop();
        if let Some(due) = number.and_then(|number| self.due.get(number)) {
            due.store(self.millis(deadline.at()), Ordering::Relaxed);
        }
        Place { desk: Arc::clone(self), number }
    }

    /// How many slots are taken by work that should have ended `grace` ago.
    pub fn overdue(&self, grace: Duration) -> usize {
        let Some(then) = Instant::now().checked_sub(grace) else { return 0 };
        let then = self.millis(then);
        self.due.iter().filter(|due| due.load(Ordering::Relaxed) < then).count()
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.origin).as_millis()).unwrap_or(FREE - 1)
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        if let Some(due) = self.desk.due.get(number) {
            due.store(FREE, Ordering::Relaxed);
        }
        self.desk.free().push(number);
    }
}
