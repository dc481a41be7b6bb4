//! How many lookups run at once, and how many may wait for a slot.
//!
//! Waiting is first in, first out (tokio's semaphore hands permits to waiters in order) and ends at the lookup's
//! deadline. A full queue refuses at once. A slot is given back when the work has ended, not when its caller has left.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use credgate_provider::{Deadline, Slot};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

/// The slots and their queue.
#[derive(Debug)]
pub struct Capacity {
    slots: Arc<Semaphore>,
    total: usize,
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

impl Capacity {
    /// `total` slots, and a queue of at most `queue`.
    pub fn new(total: usize, queue: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(total)), total, waiting: AtomicUsize::new(0), queue }
    }

    /// Waits for a slot.
    pub async fn slot(&self, deadline: Deadline) -> Result<Slot, Exhausted> {
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(Slot::new(permit));
        }
        let _place = self.line_up()?;
        match timeout_at(deadline.at(), Arc::clone(&self.slots).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Slot::new(permit)),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(Exhausted::TimedOut),
        }
    }

    /// Slots taken now, by lookups under way and by work whose caller has left.
    pub fn in_use(&self) -> usize {
        self.total - self.slots.available_permits().min(self.total)
    }

    /// All slots.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Lookups that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Every slot at once: ends when no work is left.
    pub async fn all(&self) -> Option<OwnedSemaphorePermit> {
        let all = u32::try_from(self.total).ok()?;
        Arc::clone(&self.slots).acquire_many_owned(all).await.ok()
    }

    fn line_up(&self) -> Result<Waiting<'_>, Exhausted> {
        let joined = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now < self.queue).then_some(now + 1));
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
    use std::time::Duration;

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
