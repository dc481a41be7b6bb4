//! The facts that health is made of, and the verdicts they come to.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::shutdown::{Phase, Phases};

/// What can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Send lookups here? Also the answer for `""` and for the service itself.
    Readiness,
    /// Has it started?
    Startup,
    /// Does it still turn?
    Liveness,
}

impl Name {
    /// Reads the `service` field of a health request.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "readiness" | credgate_proto::SERVICE => Some(Self::Readiness),
            "startup" => Some(Self::Startup),
            "liveness" => Some(Self::Liveness),
            _ => None,
        }
    }
}

/// The verdict on each name: true is SERVING.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// The last check of the backend succeeded and is recent, and the gateway is not on its way out.
    pub readiness: bool,
    /// Configuration, provider and first check were good. Stays so during the drain.
    pub startup: bool,
    /// The lookup runtime has ticked lately. Says nothing about the backend.
    pub liveness: bool,
}

impl Verdicts {
    /// The one asked for.
    pub fn of(self, name: Name) -> bool {
        match name {
            Name::Readiness => self.readiness,
            Name::Startup => self.startup,
            Name::Liveness => self.liveness,
        }
    }
}

/// Where facts are left and verdicts are read.
#[derive(Debug)]
pub struct Board {
    phases: Phases,
    max_age: Duration,
    facts: Mutex<Facts>,
    verdicts: watch::Sender<Verdicts>,
    check_wanted: Notify,
}

#[derive(Debug)]
struct Facts {
    /// When the last check of the backend ended well; `None` when the last one failed, or none has ended yet.
    good_check: Option<Instant>,
    heartbeat: Instant,
    started: bool,
}

impl Board {
    /// Age of the heartbeat at which liveness ends (contract: 10 s; it beats twice a second).
    pub const HEARTBEAT_MAX_AGE: Duration = Duration::from_secs(10);

    /// A gateway that has just begun to start.
    pub fn new(phases: Phases, max_age: Duration) -> Self {
        let facts = Facts { good_check: None, heartbeat: Instant::now(), started: false };
        Self {
            phases,
            max_age,
            facts: Mutex::new(facts),
            verdicts: watch::Sender::new(Verdicts::default()),
            check_wanted: Notify::new(),
        }
    }

    /// The lookup runtime turns.
    pub fn beat(&self) {
        self.facts().heartbeat = Instant::now();
    }

    /// A check of the backend has ended.
    pub fn checked(&self, good: bool) {
        self.facts().good_check = good.then(Instant::now);
        self.refresh();
    }

    /// A lookup saw the backend fail: ask it now rather than at the next interval.
    pub fn want_check(&self) {
        self.check_wanted.notify_one();
    }

    /// Ends when a check is wanted before its time.
    pub async fn check_wanted(&self) {
        self.check_wanted.notified().await;
    }

    /// The verdicts of this moment.
    pub fn verdicts(&self) -> Verdicts {
        let phase = self.phases.now();
        let mut facts = self.facts();
        facts.started |= phase == Phase::Serving;
        let recent = facts.good_check.is_some_and(|at| at.elapsed() <= self.max_age);
        Verdicts {
            readiness: phase == Phase::Serving && recent,
            startup: facts.started,
            liveness: facts.heartbeat.elapsed() <= Self::HEARTBEAT_MAX_AGE,
        }
    }

    /// Tells the watchers what has changed, and logs it.
    pub fn refresh(&self) {
        let verdicts = self.verdicts();
        self.verdicts.send_if_modified(|told| {
            for (name, was, is) in [
                ("readiness", told.readiness, verdicts.readiness),
                ("startup", told.startup, verdicts.startup),
                ("liveness", told.liveness, verdicts.liveness),
            ] {
                if was != is {
                    tracing::info!(name, status = if is { "SERVING" } else { "NOT_SERVING" }, "health");
                }
            }
            std::mem::replace(told, verdicts) != verdicts
        });
    }

    /// For watchers.
    pub fn subscribe(&self) -> watch::Receiver<Verdicts> {
        self.refresh();
        self.verdicts.subscribe()
    }

    /// The phase beside which verdicts are given.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn readiness_needs_a_recent_good_check_and_a_serving_phase() {
        let phases = Phases::new();
        let board = Board::new(phases.clone(), MAX_AGE);
        let readiness = || board.verdicts().readiness;
        board.checked(true);
        assert!(!readiness(), "starting");
        phases.enter(Phase::Serving);
        assert!(readiness());
        board.checked(false);
        assert!(!readiness(), "failed");
        board.checked(true);
        tokio::time::advance(MAX_AGE).await;
        assert!(readiness());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!readiness(), "a hung check ages out");
        board.checked(true);
        phases.enter(Phase::LameDuck);
        assert!(!readiness(), "on its way out");
        assert!(board.verdicts().startup, "startup stays");
    }

    #[tokio::test(start_paused = true)]
    async fn liveness_is_the_heartbeat_alone() {
        let board = Board::new(Phases::new(), MAX_AGE);
        board.checked(false);
        tokio::time::advance(Board::HEARTBEAT_MAX_AGE).await;
        assert!(board.verdicts().liveness);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!board.verdicts().liveness);
        board.beat();
        assert!(board.verdicts().liveness);
    }
}
