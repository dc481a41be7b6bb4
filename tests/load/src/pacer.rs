//! Moments at a fixed rate, kept whatever happens meanwhile.
//!
//! tokio's timer counts milliseconds, which would show in every latency; a thread that waits for itself is woken within some
//! 50 µs (the kernel's timer slack).

use std::{
    io,
    thread::{Builder, park_timeout},
    time::Duration,
};

use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::Instant,
};

/// A clock that says which moments are due. Its thread ends with it.
#[derive(Debug)]
pub struct Pacer(UnboundedReceiver<Instant>);

impl Pacer {
    /// So many moments a second, from now on.
    pub fn new(rate: f64) -> io::Result<Self> {
        let period = Duration::from_secs_f64(1.0 / rate.clamp(0.001, 1_000_000.0));
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
        Ok(Self(receiver))
    }

    /// The next moment, as it was meant; returns when it has come.
    pub async fn next(&mut self) -> Instant {
        // The thread ends only after this end of the channel.
        self.0.recv().await.unwrap_or_else(Instant::now)
    }
}

/// Finer than this the clock itself would be load; at higher rates several moments are due together.
const FINEST: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn moments_keep_their_distance_and_none_is_left_out() {
        let mut pacer = Pacer::new(5000.0).unwrap();
        let mut last = pacer.next().await;
        for _ in 0..1000 {
            let due = pacer.next().await;
            assert!(Instant::now() >= due);
            assert_eq!((due - last).as_micros(), 200);
            last = due;
        }
    }
}
