//! Work under a deadline, without a timer where none is needed.

use std::{pin::pin, task::Poll};

use credgate_provider::Deadline;
use futures::poll;
use tokio::time::{error::Elapsed, timeout_at};

/// Awaits `work` until `deadline`. What is done at once, as most of it is, makes no timer.
pub async fn within<F: Future>(deadline: Deadline, work: F) -> Result<F::Output, Elapsed> {
    let mut work = pin!(work);
    if let Poll::Ready(done) = poll!(work.as_mut()) {
        return Ok(done);
    }
    timeout_at(deadline.at(), work).await
}

#[cfg(test)]
mod tests {
    use std::{future::ready, time::Duration};

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_late_ends_at_the_deadline() {
        let deadline = Deadline::after(Duration::from_secs(1));
        assert_eq!(within(deadline, ready(7)).await, Ok(7));
        assert_eq!(within(deadline, sleep(Duration::from_millis(900))).await, Ok(()));
        assert!(within(deadline, sleep(Duration::from_secs(1))).await.is_err());
        assert!(deadline.passed());
    }
}
