//! The one deadline of a lookup: made at the door, handed through every room.

use std::time::Duration;

use tokio::time::Instant;

/// A point in time, and who set it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    client_bound: bool,
}

impl Deadline {
    /// The most that is kept back of a client's own timeout, so that our answer arrives before the client gives up.
    const MARGIN: Duration = Duration::from_millis(50);

    /// min(client's timeout − min(10 %, 50 ms), `cap`) from `now`.
    ///
    /// It is the client's bound when the client gave less than `cap`; the margin that we keep back does not count, or a
    /// client with the very timeout that the gateway has would never tell anything about the backend.
    pub fn new(now: Instant, client: Option<Duration>, cap: Duration) -> Self {
        let given = client.unwrap_or(Duration::MAX);
        let time = (given - (given / 10).min(Self::MARGIN)).min(cap);
        Self { at: now + time, client_bound: given < cap }
    }

    /// `time` from now, set by the gateway itself.
    pub fn after(time: Duration) -> Self {
        Self { at: Instant::now() + time, client_bound: false }
    }

    /// The point in time.
    pub fn at(self) -> Instant {
        self.at
    }

    /// What is left; zero when it has passed.
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        self.left().is_zero()
    }

    /// Whether the client's own bound was the tighter one: then running out of time says nothing about the backend.
    pub fn client_bound(self) -> bool {
        self.client_bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_tighter_bound_wins_and_is_remembered() {
        let now = Instant::now();
        let cap = Duration::from_secs(2);
        for (client, left, bound) in [
            (None, 2000, false),
            (Some(0), 0, true),
            (Some(100), 90, true),
            (Some(1000), 950, true),
            (Some(1999), 1949, true),
            (Some(2000), 1950, false),
            (Some(2050), 2000, false),
            (Some(u64::from(u32::MAX)), 2000, false),
        ] {
            let deadline = Deadline::new(now, client.map(Duration::from_millis), cap);
            assert_eq!((deadline.left().as_millis(), deadline.client_bound()), (left, bound), "{client:?}");
        }
    }
}
