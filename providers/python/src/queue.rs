//! Work handed from the lookup runtime to threads that may hang: never waits on the giving side.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// First in, first out, bounded, with an end.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    more: Condvar,
    most: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closed: bool,
    /// Threads that wait for work.
    idle: usize,
}

impl<T> Queue<T> {
    /// A queue of at most `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { state: Mutex::new(State { items: VecDeque::new(), closed: false, idle: 0 }), more: Condvar::new(), most }
    }

    /// Hands one over; it comes back when the queue is full or closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state();
        if state.closed || state.items.len() >= self.most {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.more.notify_one();
        Ok(())
    }

    /// Waits for one; `None` once it is closed.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            state.idle += 1;
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// How many threads wait in [`Queue::pop`] now.
    pub(crate) fn idle(&self) -> usize {
        self.state().idle
    }

    /// Takes all there are, without waiting.
    pub(crate) fn take(&self) -> VecDeque<T> {
        std::mem::take(&mut self.state().items)
    }

    /// Ends it: what still waits is dropped, and so is what comes later.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let waiting = std::mem::take(&mut state.items);
        drop(state);
        drop(waiting);
        self.more.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_in_order_and_ends() {
        let queue = Queue::new(2);
        assert!(queue.push(1).is_ok() && queue.push(2).is_ok());
        assert_eq!(queue.push(3), Err(3));
        assert_eq!(queue.pop(), Some(1));
        queue.close();
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.push(4), Err(4));
    }
}
