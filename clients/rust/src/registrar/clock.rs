//! Time that no wall clock can turn back, and that goes on while the machine sleeps: a password must not outlive that.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time since some moment.
pub(super) fn now() -> Duration {
    #[cfg(target_os = "linux")]
    let now = clock_gettime(ClockId::Boottime);
    // Elsewhere it may stand still during a suspend.
    #[cfg(not(target_os = "linux"))]
    let now = clock_gettime(ClockId::Monotonic);
    // Never negative: both count from the machine's start.
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
