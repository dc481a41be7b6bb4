//! Every statement is a task of its own. Decides when the caller stops waiting and when the work must have ended; the
//! work keeps the slot and the connection until it really has, however long ago the caller left.

use std::{future::Future, time::Duration};

use credgate_provider::{Deadline, ProviderError};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
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
    pub(crate) fn give(self, answer: Result<T, ProviderError>) {
        // A caller that left needs no answer.
        let _ = self.0.send(answer);
    }
}

/// Starts `work` as a task of its own and waits for its answer. Dropping the returned future leaves the task running.
pub(crate) async fn ask<T, F>(bound: Bound, work: impl FnOnce(Answer<T>) -> F) -> Result<T, ProviderError>
where
    T: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (answer, given) = oneshot::channel();
    tokio::spawn(work(Answer(answer)));
    match timeout_at(bound.answer, given).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(ProviderError::Defect("a statement's task ended without an answer".into())),
        Err(_) => Err(ProviderError::TimedOut(NO_ANSWER.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_work_ends_before_the_answer_and_both_before_the_deadline() {
        for (given, work, answer) in [(2000, 1950, 1990), (100, 90, 98), (0, 0, 0)] {
            let start = Instant::now();
            let bound = Bound::of(Deadline::after(Duration::from_millis(given)), Duration::from_secs(2));
            assert_eq!(((bound.work - start).as_millis(), (bound.answer - start).as_millis()), (work, answer));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_never_ends_is_answered_for() {
        let bound = Bound::of(Deadline::after(Duration::from_secs(1)), Duration::from_secs(2));
        let stuck = ask(bound, |answer: Answer<()>| async move {
            future::pending::<()>().await;
            answer.give(Ok(()));
        });
        assert!(matches!(stuck.await, Err(ProviderError::TimedOut(_))));
        assert!(matches!(
            ask(bound, |_: Answer<()>| async {}).await,
            Err(ProviderError::Defect(_) | ProviderError::TimedOut(_))
        ));
    }
}
