use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::Instant;

use super::*;

fn unavailable() -> Result<(), ProviderError> {
    Err(ProviderError::Unavailable("refused".into()))
}

fn timed_out() -> Result<(), ProviderError> {
    Err(ProviderError::TimedOut("late".into()))
}

/// A deadline of the gateway's own.
fn own() -> Deadline {
    Deadline::after(Duration::from_secs(1))
}

/// A deadline that the client has set.
fn clients() -> Deadline {
    Deadline::new(Instant::now(), Some(Duration::from_millis(10)), Duration::from_secs(1))
}

fn outage() -> Watchdog {
    let watchdog = Watchdog::default();
    (0..IN_A_ROW).for_each(|_| watchdog.looked_up(&unavailable(), own()));
    watchdog
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_make_an_outage() {
    let watchdog = Watchdog::default();
    for result in [unavailable(), timed_out(), unavailable(), timed_out()] {
        watchdog.looked_up(&result, own());
        assert!(!watchdog.is_on());
    }
    watchdog.looked_up(&Ok(()), own());
    (1..IN_A_ROW).for_each(|_| watchdog.looked_up(&timed_out(), own()));
    assert!(!watchdog.is_on(), "an answer in between breaks the row");
    watchdog.looked_up(&timed_out(), own());
    assert!(watchdog.is_on());
}

#[tokio::test(start_paused = true)]
async fn one_failure_is_enough_after_a_failed_check_and_a_failed_check_alone_is_not() {
    let watchdog = Watchdog::default();
    watchdog.checked(false);
    watchdog.looked_up(&Ok(()), own());
    assert!(!watchdog.is_on() && watchdog.admit().is_ok(), "a failing check with healthy lookups");
    watchdog.looked_up(&unavailable(), own());
    assert!(watchdog.is_on());
}

#[tokio::test(start_paused = true)]
async fn a_client_with_tiny_timeouts_makes_no_outage_and_heals_none() {
    let watchdog = Watchdog::default();
    watchdog.checked(false);
    (0..100).for_each(|_| watchdog.looked_up(&timed_out(), clients()));
    let late = clients();
    tokio::time::advance(Duration::from_millis(10)).await;
    (0..100).for_each(|_| watchdog.looked_up(&unavailable(), late));
    assert!(!watchdog.is_on());

    watchdog.looked_up(&unavailable(), clients());
    assert!(watchdog.is_on(), "refused before its time was over: that was the backend");
    watchdog.looked_up(&timed_out(), clients());
    assert!(watchdog.is_on());
}

#[tokio::test(start_paused = true)]
async fn two_at_a_time_try_and_the_first_answer_ends_it() {
    let watchdog = outage();
    let (first, second) = (watchdog.admit().unwrap(), watchdog.admit().unwrap());
    assert_eq!(watchdog.admit().unwrap_err(), Outage);
    drop(second);
    let third = watchdog.admit().unwrap();
    assert!(watchdog.admit().is_err());
    drop((first, third));
    watchdog.looked_up(&Err::<(), _>(ProviderError::Defect("odd".into())), own());
    assert!(watchdog.is_on(), "a defect is no answer of the backend");
    watchdog.looked_up(&Err::<(), _>(ProviderError::Corrupt("row".into())), own());
    assert!(!watchdog.is_on(), "a bad record is one");
    assert!((0..100).all(|_| watchdog.admit().is_ok()));
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_waited_into_an_outage_becomes_a_trial_or_is_refused() {
    let watchdog = Watchdog::default();
    let waited = [(); 3].map(|()| watchdog.admit().unwrap());
    (0..IN_A_ROW).for_each(|_| watchdog.looked_up(&unavailable(), own()));
    let [first, second, third] = waited.map(|turn| watchdog.confirm(turn));
    let trials = [first.unwrap(), second.unwrap()];
    assert_eq!(third.unwrap_err(), Outage);
    assert!(trials.into_iter().all(|trial| watchdog.confirm(trial).is_ok()), "a trial stays one");
}

#[tokio::test(start_paused = true)]
async fn failures_and_the_end_of_an_outage_ask_for_a_check() {
    let watchdog = Watchdog::default();
    watchdog.looked_up(&Ok(()), own());
    watchdog.looked_up(&timed_out(), clients());
    assert!(watchdog.check_wanted().now_or_never().is_none());
    watchdog.looked_up(&unavailable(), own());
    assert!(watchdog.check_wanted().now_or_never().is_some());
    let watchdog = outage();
    watchdog.check_wanted().await;
    watchdog.looked_up(&Ok(()), own());
    assert!(watchdog.check_wanted().now_or_never().is_some());
}
