//! The calls of a connection, run in the connection's own task.
//!
//! hyper hands over one future per call. In a task each, every answer would wake the connection's task by itself and leave
//! in a write by itself (0.7 writes a call at 16 calls under way, measured). Here the answers of one round leave together.
//! The price: the calls of one connection share a core. Work that takes long is the provider's, and runs elsewhere.

use std::{
    fmt,
    future::poll_fn,
    mem,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use hyper::rt::Executor;

use super::{
    Connection,
    turns::{InTurns, Turn},
};

/// Where hyper leaves the calls of a connection.
#[derive(Clone, Default)]
pub struct Arrivals(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

/// The calls under way on a connection.
pub struct Streams {
    turn: Turn,
    arrivals: Arrivals,
    arrived: Vec<BoxFuture<'static, ()>>,
    waiting: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Streams {
    /// Those that arrive at `arrivals`.
    pub fn new(arrivals: Arrivals) -> Self {
        Self { turn: Turn::new(), arrivals, arrived: Vec::new(), waiting: FuturesUnordered::new() }
    }

    /// A connection's stream, read in the turns that [`run`](Self::run) gives it.
    pub(super) fn in_turns<S>(&self, stream: S, connection: &Arc<Connection>) -> InTurns<S> {
        self.turn.of(stream, connection)
    }

    /// Runs a connection and its calls until the connection ends; what is under way then ends with it.
    pub async fn run<C: Future>(&mut self, mut connection: Pin<&mut C>) -> C::Output {
        poll_fn(|context| {
            self.turn.next();
            loop {
                if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                    return Poll::Ready(ended);
                }
                // What they have answered is still to be written.
                if !self.advance(context) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Takes every call as far as it goes now; whether one ended.
    fn advance(&mut self, context: &mut Context<'_>) -> bool {
        let mut ended = false;
        self.arrivals.take(&mut self.arrived);
        // Most end here, without a waker of their own. Where one does not, the others are likely to wait as well.
        let mut at_once = true;
        for mut stream in self.arrived.drain(..) {
            at_once = at_once && stream.poll_unpin(context).is_ready();
            if !at_once {
                self.waiting.push(stream);
            }
            ended |= at_once;
        }
        while let Poll::Ready(Some(())) = self.waiting.poll_next_unpin(context) {
            ended = true;
        }
        ended
    }
}

/// hyper's calls hold the place where they arrive: those that nobody has taken from it would keep themselves for ever.
impl Drop for Streams {
    fn drop(&mut self) {
        self.arrivals.take(&mut self.arrived);
    }
}

impl Arrivals {
    fn take(&self, into: &mut Vec<BoxFuture<'static, ()>>) {
        mem::swap(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), into);
    }
}

impl<F> Executor<F> for Arrivals
where
    F: Future<Output = ()> + Send + 'static,
{
    /// A call that panics ends alone, as it would in a task of its own.
    fn execute(&self, stream: F) {
        let stream = AssertUnwindSafe(stream).catch_unwind().map(drop).boxed();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrivals")
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_that_nobody_has_begun_end_with_their_connection() {
        let arrivals = Arrivals::default();
        let mut streams = Streams::new(arrivals.clone());
        let call = Arc::new(());
        let (held, place) = (Arc::clone(&call), arrivals.clone());
        let connection = async move {
            let inside = place.clone();
            place.execute(async move { drop((inside, held)) });
        };
        streams.run(std::pin::pin!(connection)).await;
        drop((streams, arrivals));
        assert_eq!(Arc::strong_count(&call), 1);
    }
}
