//! Moments at a fixed rate, kept whatever happens meanwhile.
//!
//! tokio's timer counts milliseconds, which would show in every latency. Two clocks are finer. A thread that waits for itself
//! is woken within some 50 µs (the kernel's timer slack) if a core is free, and costs little. Who has a core for the load
//! alone looks at the time again and again between the runtime's other tasks: a moment then comes as soon as they let it.

use std::{
    io,
    thread::{Builder, park_timeout},
    time::Duration,
};

use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::yield_now,
    time::Instant,
};

/// A clock that says which moments are due.
#[derive(Debug)]
pub struct Pacer(Clock);

#[derive(Debug)]
enum Clock {
    /// Its thread ends with this end of the channel.
    Thread(UnboundedReceiver<Instant>),
    Spinning {
        due: Instant,
        period: Duration,
        in_a_row: u32,
    },
}

impl Pacer {
    /// So many moments a second, from now on, from a thread of its own.
    pub fn new(rate: f64) -> io::Result<Self> {
        let period = period(rate);
        let (sender, receiver) = unbounded_channel();
        let begin = Instant::now();
        Builder::new().name("pacer".into()).spawn(move || {
            let mut due = begin;
            loop {
                let left = due.saturating_duration_since(Instant::now());
                if !left.is_zero() {
                    park_timeout(left.max(FINEST));
                    continue;
                }
                if sender.send(due).is_err() {
                    return;
                }
                due += period;
            }
        })?;
        Ok(Self(Clock::Thread(receiver)))
    }

    /// The same on the thread of who waits, which never rests meanwhile. Its core belongs to the load alone, or the wait
    /// itself takes from what is measured.
    pub fn spinning(rate: f64) -> Self {
        Self(Clock::Spinning { due: Instant::now(), period: period(rate), in_a_row: 0 })
    }

    /// The next moment, as it was meant; returns when it has come.
    pub async fn next(&mut self) -> Instant {
        match &mut self.0 {
            // The thread ends only after this end of the channel.
            Clock::Thread(moments) => moments.recv().await.unwrap_or_else(Instant::now),
            Clock::Spinning { due, period, in_a_row } => {
                // Moments that are due together begin together, as those of the thread do; but whoever is behind must
                // come to what is under way, or would stay behind.
                while Instant::now() < *due || *in_a_row == MOST_IN_A_ROW {
                    *in_a_row = 0;
                    yield_now().await;
                }
                *in_a_row += 1;
                let moment = *due;
                *due += *period;
                moment
            }
        }
    }
}

fn period(rate: f64) -> Duration {
    Duration::from_secs_f64(1.0 / rate.clamp(0.001, 1_000_000.0))
}

/// Finer than this the thread would be load; at higher rates several moments are due together.
const FINEST: Duration = Duration::from_micros(100);

/// How many calls of an open loop may begin before the runtime's other tasks have their turn: few enough to take less time
/// than an answer does.
const MOST_IN_A_ROW: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn moments_keep_their_distance_and_none_is_left_out() {
        for mut pacer in [Pacer::new(5000.0).unwrap(), Pacer::spinning(5000.0)] {
            let mut last = pacer.next().await;
            for _ in 0..1000 {
                let due = pacer.next().await;
                assert!(Instant::now() >= due);
                assert_eq!((due - last).as_micros(), 200);
                last = due;
            }
        }
    }

    #[tokio::test]
    async fn who_spins_and_is_behind_lets_others_run() {
        let mut pacer = Pacer::spinning(1_000_000.0);
        let behind = Instant::now() + Duration::from_millis(1);
        while Instant::now() < behind {
            std::hint::spin_loop();
        }
        let other = tokio::spawn(async {});
        for _ in 0..=MOST_IN_A_ROW {
            pacer.next().await;
        }
        assert!(other.is_finished());
    }
}
