//! The facts that health is made of, and the verdicts they come to.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use crate::{
    admission::Capacity,
    shutdown::{Phase, Phases},
};

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
    /// The last check of the backend succeeded and is recent, not every slot is stuck, and the gateway is not on its way
    /// out.
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
    stuck_after: Duration,
    capacity: OnceLock<Arc<Capacity>>,
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
    pub fn new(phases: Phases, max_age: Duration, stuck_after: Duration) -> Self {
        let facts = Facts { good_check: None, heartbeat: Instant::now(), started: false };
        Self {
            phases,
            max_age,
            facts: Mutex::new(facts),
            verdicts: watch::Sender::new(Verdicts::default()),
            stuck_after,
            capacity: OnceLock::new(),
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

    /// The lookup slots are there: from now on readiness looks at them.
    pub fn watch_slots(&self, capacity: Arc<Capacity>) {
        // Set once, at start.
        let _ = self.capacity.set(capacity);
    }

    /// Whether every slot is held by work that should have ended long ago.
    pub fn is_stuck(&self) -> bool {
        self.capacity.get().is_some_and(|capacity| capacity.is_stuck(self.stuck_after))
    }

    /// The verdicts of this moment.
    pub fn verdicts(&self) -> Verdicts {
        let phase = self.phases.now();
        let mut facts = self.facts();
        facts.started |= phase == Phase::Serving;
        let recent = facts.good_check.is_some_and(|at| at.elapsed() <= self.max_age);
        Verdicts {
            readiness: phase == Phase::Serving && recent && !self.is_stuck(),
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
    use credgate_provider::Deadline;

    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(15);
    const STUCK_AFTER: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn readiness_needs_a_recent_good_check_and_a_serving_phase() {
        let phases = Phases::new();
        let board = Board::new(phases.clone(), MAX_AGE, STUCK_AFTER);
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
        let board = Board::new(Phases::new(), MAX_AGE, STUCK_AFTER);
        board.checked(false);
        tokio::time::advance(Board::HEARTBEAT_MAX_AGE).await;
        assert!(board.verdicts().liveness);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!board.verdicts().liveness);
        board.beat();
        assert!(board.verdicts().liveness);
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_falls_when_every_slot_is_stuck_and_heals_when_one_returns() {
        let phases = Phases::new();
        let board = Board::new(phases.clone(), MAX_AGE * 10, STUCK_AFTER);
        let capacity = Arc::new(Capacity::new(2, 0));
        board.watch_slots(Arc::clone(&capacity));
        board.checked(true);
        phases.enter(Phase::Serving);
        let deadline = || Deadline::after(Duration::from_secs(1));
        let held = [capacity.slot(deadline()).await.unwrap(), capacity.slot(deadline()).await.unwrap()];
        tokio::time::advance(Duration::from_secs(1) + STUCK_AFTER).await;
        assert!(board.verdicts().readiness, "not yet");
        assert_eq!(capacity.overdue(), 2);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!board.verdicts().readiness);
        drop(held.into_iter().next());
        assert!(board.verdicts().readiness, "one has returned");
    }
}
