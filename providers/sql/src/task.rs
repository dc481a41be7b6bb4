//! A statement and whoever waits for it. Decides when the caller stops waiting and when the work must have ended; the
//! work keeps the slot and the connection until it really has, however long ago the caller left.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use credgate_provider::{Deadline, ProviderError};
use tokio::{
    runtime::Handle,
    sync::oneshot::{self, error::TryRecvError},
    time::Instant,
};

/// The two points in time of one piece of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// The work gives up here: it interrupts its statement and says what it was waiting for.
    pub(crate) work: Instant,
    /// The caller is answered here at the latest, with a general sentence.
    pub(crate) answer: Instant,
}

/// Where the work leaves its answer. The caller may be gone.
pub(crate) struct Answer<T>(oneshot::Sender<Result<T, ProviderError>>);

/// What is left to say when the work itself could not.
pub(crate) const NO_ANSWER: &str =
    "the database did not answer in time: its storage hangs, or the machine is overloaded";

impl Bound {
    /// Kept back of the deadline, so that the sentence of the innermost wait still arrives before the caller gives up:
    /// a tenth, 50 ms at most.
    const MARGIN: Duration = Duration::from_millis(50);

    pub(crate) fn of(deadline: Deadline, most: Duration) -> Self {
        let left = deadline.left().min(most);
        let margin = Self::margin(left);
        let end = Instant::now() + left;
        Self { work: end - margin, answer: end - margin / 5 }
    }

    pub(crate) fn margin(time: Duration) -> Duration {
        (time / 10).min(Self::MARGIN)
    }
}

impl<T> Answer<T> {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<T, ProviderError>>) {
        let (answer, given) = oneshot::channel();
        (Self(answer), given)
    }

    pub(crate) fn give(self, answer: Result<T, ProviderError>) {
        // A caller that left needs no answer.
        let _ = self.0.send(answer);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_closed()
    }
}

/// Does `work` and waits for its answer, which may come before its end. What is left of it then, or when the caller leaves,
/// goes on in a task of its own: work that nobody interrupts costs none.
pub(crate) async fn ask<T, F>(work: impl FnOnce(Answer<T>) -> F) -> Result<T, ProviderError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (answer, mut given) = Answer::new();
    let mut work = Work(Some(Box::pin(work(answer))));
    poll_fn(|context| {
        work.advance(context);
        // Given while the work is advanced and never else, so there is nothing more to be woken by.
        match given.try_recv() {
            Ok(answer) => Poll::Ready(answer),
            Err(TryRecvError::Empty) => Poll::Pending,
            Err(TryRecvError::Closed) => {
                Poll::Ready(Err(ProviderError::Defect("a statement's work ended without an answer".into())))
            }
        }
    })
    .await
}

/// What is left to do.
struct Work<F: Future<Output = ()> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output = ()> + Send + 'static> Work<F> {
    fn advance(&mut self, context: &mut Context<'_>) {
        // Work that panics is gone.
        if let Some(mut work) = self.0.take()
            && work.as_mut().poll(context).is_pending()
        {
            self.0 = Some(work);
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Drop for Work<F> {
    fn drop(&mut self) {
        // Without a runtime nothing could be waited for any more.
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_work_ends_before_the_answer_and_both_before_the_deadline() {
        for (given, work, answer) in [(2000, 1950, 1990), (100, 90, 98), (0, 0, 0)] {
            let start = Instant::now();
            let bound = Bound::of(Deadline::after(Duration::from_millis(given)), Duration::from_secs(2));
            assert_eq!(((bound.work - start).as_millis(), (bound.answer - start).as_millis()), (work, answer));
        }
    }

    #[tokio::test]
    async fn what_is_left_of_the_work_goes_on_without_its_caller() {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let early = ask(|answer: Answer<u8>| async move {
            answer.give(Ok(1));
            gone.await.unwrap();
            tell.send(()).unwrap();
        });
        assert_eq!(early.await.unwrap(), 1);
        go.send(()).unwrap();
        told.await.unwrap();

        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let mut left = Box::pin(ask(|answer: Answer<u8>| async move {
            gone.await.unwrap();
            tell.send(answer.is_wanted()).unwrap();
        }));
        assert!(futures::poll!(&mut left).is_pending());
        drop(left);
        go.send(()).unwrap();
        assert!(!told.await.unwrap(), "nobody waits for it");
    }

    #[tokio::test]
    async fn work_without_an_answer_is_a_defect() {
        assert!(matches!(ask(|_: Answer<()>| async {}).await, Err(ProviderError::Defect(_))));
    }
}
