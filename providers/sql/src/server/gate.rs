//! Opening connections gradually: a few at a time, and with growing pauses while they fail, so that neither a restart of
//! many gateways nor the end of an outage becomes a storm of logins.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep_until},
};

use super::pool::jitter;

pub(super) struct Gate {
    turns: Semaphore,
    pause: Mutex<Pause>,
}

struct Pause {
    failures: u32,
    until: Instant,
}

/// The permission to open one connection.
pub(super) struct Turn<'g> {
    gate: &'g Gate,
    _turn: Option<SemaphorePermit<'g>>,
}

/// Connections that are opened at once. A login costs the server a process or thread; four of them fill sixteen
/// connections within a few round trips.
const TURNS: usize = 4;
/// After the first failure, then twice as long each time.
const FIRST: Duration = Duration::from_millis(10);
/// So long can a lookup be held up after the end of an outage.
const LONGEST: Duration = Duration::from_millis(200);

impl Gate {
    pub(super) fn new() -> Self {
        Self { turns: Semaphore::new(TURNS), pause: Mutex::new(Pause { failures: 0, until: Instant::now() }) }
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self) -> Turn<'_> {
        // Never closed; were it, opening would be unbounded and not impossible.
        Turn { gate: self, _turn: self.turns.acquire().await.ok() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Pause) -> T) -> T {
        change(&mut self.pause.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Turn<'_> {
    /// Waits until the pause after the last failure is over.
    pub(super) async fn pause(&self) {
        let until = self.gate.with(|pause| pause.until);
        sleep_until(until).await;
    }

    pub(super) fn succeeded(&self) {
        self.gate.with(|pause| *pause = Pause { failures: 0, until: Instant::now() });
    }

    pub(super) fn failed(&self) {
        self.gate.with(|pause| {
            let wait = (FIRST * 2_u32.pow(pause.failures.min(8))).min(LONGEST);
            pause.failures += 1;
            pause.until = Instant::now() + jitter(wait);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_end_with_a_success() {
        let gate = Gate::new();
        let mut last = Duration::ZERO;
        for failure in 0..40 {
            let turn = gate.turn().await;
            let began = Instant::now();
            turn.pause().await;
            last = began.elapsed();
            assert!(last <= LONGEST.mul_f64(1.2) + Duration::from_millis(1), "{failure}: {last:?}");
            turn.failed();
        }
        assert!(last >= LONGEST.mul_f64(0.8));
        gate.turn().await.succeeded();
        let began = Instant::now();
        gate.turn().await.pause().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
