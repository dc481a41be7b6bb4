//! What a supervisor is told: systemd's notification protocol (sd_notify(3)), where `NOTIFY_SOCKET` is set.
//!
//! READY only once lookups are answered, STOPPING with the first signal, and the watchdog is fed only while the gateway
//! is live: by the control thread, as long as the lookup runtime ticks.

use std::{sync::Arc, time::Duration};

use sd_notify::NotifyState;
use tokio::time::sleep;

use crate::{health::Board, shutdown::Phase};

/// Says `READY=1` with a line of status.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Says `STOPPING=1` and asks for the time that it takes.
pub fn stopping(within: Duration) {
    tell(&[
        NotifyState::Stopping,
        NotifyState::Status("draining"),
        NotifyState::ExtendTimeoutUsec(u32::try_from(within.as_micros()).unwrap_or(u32::MAX)),
    ]);
}

/// Says in what state a serving gateway is whenever that changes, and feeds the watchdog while it is live. Runs for ever,
/// on the control thread.
pub async fn keep_told(board: Arc<Board>) {
    let watchdog = sd_notify::watchdog_enabled();
    // At least twice in the time that is granted, as sd_watchdog_enabled(3) recommends.
    let pause = watchdog.map_or(PAUSE, |granted| (granted / 4).min(PAUSE));
    let mut told = None;
    loop {
        let verdicts = board.verdicts();
        if board.phases().now() == Phase::Serving && told != Some(verdicts.readiness) {
            tell(&[NotifyState::Status(if verdicts.readiness { "serving" } else { "not ready: see the log" })]);
            told = Some(verdicts.readiness);
        }
        if watchdog.is_some() && verdicts.liveness {
            tell(&[NotifyState::Watchdog]);
        }
        sleep(pause).await;
    }
}

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);

fn tell(states: &[NotifyState<'_>]) {
    // Without a supervisor nothing is sent; one that cannot be told has its own time-outs.
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the supervisor cannot be told");
    }
}
