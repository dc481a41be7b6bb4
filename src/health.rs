//! Health: what the gateway says of itself, from facts kept in memory.
//!
//! Probes never reach the backend: a periodic check on the lookup runtime leaves its result on the [`Board`], a
//! heartbeat shows that the runtime turns, and whoever asks gets the verdict of that moment.

mod board;
mod monitor;
mod service;

pub use board::{Board, Name, Verdicts};
pub use monitor::{heartbeat, publish, stuck, watch_backend};
pub use service::{HealthService, WatchLimits};

use std::time::Duration;

/// The `[health]` settings.
#[derive(Clone, Copy, Debug)]
pub struct HealthSettings {
    /// Between two checks of the backend.
    pub interval: Duration,
    /// The longest one check may take.
    pub timeout: Duration,
    /// Age at which the last good check no longer counts.
    pub max_age: Duration,
    /// How long every slot may be held by work past its deadline before readiness ends.
    pub stuck_after: Duration,
    /// Whether the gateway then stops, with exit code 75.
    pub exit_when_stuck: bool,
    /// Between two comparisons of the loaded files with what stands on disk.
    pub file_interval: Duration,
    /// Bounds of Watch.
    pub watch: WatchLimits,
}
