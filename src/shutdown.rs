//! Phases of the gateway's life, from start to exit, and who may ask for the next one.
//!
//! The phase only moves forward. Everybody who must act on a phase watches it; nobody keeps a second truth.

use std::time::Duration;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// Where the gateway is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The provider is being opened; only the control listener answers.
    Starting,
    /// Lookups are answered.
    Serving,
    /// A signal came: readiness is gone, lookups are still admitted (`shutdown.lame_duck`).
    LameDuck,
    /// No new lookups; those under way finish (`shutdown.drain_timeout`).
    Draining,
    /// Lookups are over; Watches on the control listener end, connections are cut, the provider closes.
    Closing,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Starting, Self::Serving, Self::LameDuck, Self::Draining, Self::Closing];

    /// The word in logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::LameDuck => "lame_duck",
            Self::Draining => "draining",
            Self::Closing => "closing",
        }
    }
}

/// New lookups are no longer admitted.
#[derive(Clone, Copy, Debug)]
pub struct Draining;

/// The one phase, shared by all.
#[derive(Clone, Debug)]
pub struct Phases(watch::Sender<Phase>);

impl Phases {
    /// A gateway at its start.
    pub fn new() -> Self {
        Self(watch::Sender::new(Phase::Starting))
    }

    /// The phase now.
    pub fn now(&self) -> Phase {
        *self.0.borrow()
    }

    /// Moves forward; a phase that has passed is not entered again.
    pub fn enter(&self, phase: Phase) {
        let moved = self.0.send_if_modified(|now| {
            let forward = phase > *now;
            *now = phase.max(*now);
            forward
        });
        if moved {
            tracing::info!(phase = phase.word(), "phase");
        }
    }

    /// Ends once `phase` has been reached.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so the channel cannot close under the wait.
        let _ = self.0.subscribe().wait_for(|now| *now >= phase).await;
    }

    /// For those who look at every change.
    pub fn subscribe(&self) -> watch::Receiver<Phase> {
        self.0.subscribe()
    }

    /// Whether a new lookup may come in.
    pub fn admit(&self) -> Result<(), Draining> {
        if self.now() >= Phase::Draining { Err(Draining) } else { Ok(()) }
    }
}

impl Default for Phases {
    fn default() -> Self {
        Self::new()
    }
}

/// How long each step of the drain may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Between readiness gone and admission stopped.
    pub lame_duck: Duration,
    /// For lookups under way.
    pub drain: Duration,
    /// For the provider to close.
    pub close: Duration,
}

impl Budget {
    /// For what lies between the steps: ending Watches, cutting connections, the last log lines.
    const REST: Duration = Duration::from_secs(1);

    /// The most that passes between SIGTERM and the exit.
    pub fn total(self) -> Duration {
        self.lame_duck + self.drain + self.close + Self::REST
    }

    /// The same after a second signal.
    pub fn hurried(self) -> Duration {
        self.close + Self::REST
    }
}

/// The signals that end the gateway, and the one it ignores. Installed before anything else, since PID 1 ignores
/// every signal without a handler.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGTERM or SIGINT and names it.
    pub async fn stop(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => tracing::warn!("SIGHUP ignored: changes need a restart"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn phases_only_move_forward() {
        let phases = Phases::new();
        phases.enter(Phase::Draining);
        phases.enter(Phase::Serving);
        assert_eq!(phases.now(), Phase::Draining);
        assert!(phases.admit().is_err());
        phases.reached(Phase::LameDuck).await;
    }
}
