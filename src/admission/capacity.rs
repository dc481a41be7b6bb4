//! How many lookups run at once, and how many may wait for a slot.
//!
//! Waiting is first in, first out (tokio's semaphore hands permits to waiters in order) and ends at the lookup's
//! deadline. A full queue refuses at once. A slot is given back when the work has ended, not when its caller has left.

mod desk;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_provider::{Deadline, Slot};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use desk::{Desk, Place};

/// The slots and their queue.
#[derive(Debug)]
pub struct Capacity {
    permits: Arc<Semaphore>,
    /// Which slots are taken, and until when their work should have ended.
    desk: Arc<Desk>,
    waiting: AtomicUsize,
    queue: usize,
}

/// No slot could be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// As many wait as may.
    QueueFull,
    /// The deadline came before a slot was free.
    TimedOut,
}

/// What a [`Slot`] holds. The fields are dropped in this order: the place is free before the permit is.
struct Held {
    _place: Place,
    _permit: OwnedSemaphorePermit,
}

impl Capacity {
    /// `total` slots, and a queue of at most `queue`.
    pub fn new(total: usize, queue: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(total)),
            desk: Arc::new(Desk::new(total)),
            waiting: AtomicUsize::new(0),
            queue,
        }
    }

    /// Waits for a slot.
    pub async fn slot(&self, deadline: Deadline) -> Result<Slot, Exhausted> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(self.taken(permit, deadline));
        }
        let _waiting = self.line_up()?;
        match timeout_at(deadline.at(), Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(self.taken(permit, deadline)),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(Exhausted::TimedOut),
        }
    }

    /// Slots taken now, by lookups under way and by work whose caller has left.
    pub fn in_use(&self) -> usize {
        self.total() - self.permits.available_permits().min(self.total())
    }

    /// Slots taken by work that should have ended by now.
    pub fn overdue(&self) -> usize {
        self.desk.overdue(Duration::ZERO)
    }

    /// Whether every slot is taken by work that should have ended `grace` ago.
    pub fn is_stuck(&self, grace: Duration) -> bool {
        self.permits.available_permits() == 0 && self.desk.overdue(grace) == self.total()
    }

    /// All slots.
    pub fn total(&self) -> usize {
        self.desk.total()
    }

    /// Lookups that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn taken(&self, permit: OwnedSemaphorePermit, deadline: Deadline) -> Slot {
        Slot::new(Held { _place: self.desk.take(deadline), _permit: permit })
    }

    fn line_up(&self) -> Result<Waiting<'_>, Exhausted> {
        let join = |now| (now < self.queue).then_some(now + 1);
        let joined = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join);
        joined.map(|_| Waiting(&self.waiting)).map_err(|_| Exhausted::QueueFull)
    }
}

/// A place in the queue.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, poll};

    use super::*;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(1))
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_first_in_first_out_and_bounded() {
        let capacity = Capacity::new(1, 2);
        let held = capacity.slot(soon()).await.unwrap();
        let (mut first, mut second) = (Box::pin(capacity.slot(soon())), Box::pin(capacity.slot(soon())));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        assert_eq!((capacity.in_use(), capacity.waiting()), (1, 2));
        assert_eq!(capacity.slot(soon()).now_or_never().unwrap().unwrap_err(), Exhausted::QueueFull);

        drop(held);
        let held = first.await.unwrap();
        assert!(poll!(&mut second).is_pending());
        assert_eq!(second.await.unwrap_err(), Exhausted::TimedOut);
        assert_eq!((capacity.in_use(), capacity.waiting()), (1, 0));
        drop(held);
        assert_eq!(capacity.in_use(), 0);
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_gives_its_place_back() {
        let capacity = Capacity::new(1, 1);
        let _held = capacity.slot(soon()).await.unwrap();
        let mut waiter = Box::pin(capacity.slot(soon()));
        assert!(poll!(&mut waiter).is_pending());
        drop(waiter);
        assert_eq!(capacity.waiting(), 0);
    }
}
