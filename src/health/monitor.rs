//! The three loops behind health: the periodic check and the heartbeat on the lookup runtime, and the publisher beside
//! the control listener.

use std::{sync::Arc, time::Duration};

use credgate_provider::{Deadline, ProviderError};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::{Board, HealthSettings};
use crate::{backend::Backend, telemetry::Metrics};

/// How often the lookup runtime shows that it turns.
const BEAT: Duration = Duration::from_millis(500);

/// How often verdicts are looked at for a change that no event announces: a check that ages, a heartbeat that stops.
const PUBLISH: Duration = Duration::from_millis(200);

/// Least time between two checks, however many failures ask for one.
const CHECK_PAUSE: Duration = Duration::from_millis(500);

/// Beats for ever. Runs on the lookup runtime.
pub async fn heartbeat(board: Arc<Board>) {
    let mut ticks = interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        board.beat();
    }
}

/// Publishes changed verdicts for ever. Runs beside the control listener.
pub async fn publish(board: Arc<Board>) {
    let mut phases = board.phases().subscribe();
    loop {
        board.refresh();
        tokio::select! {
            _ = phases.changed() => {}
            () = sleep(PUBLISH) => {}
        }
    }
}

/// Ends when every slot is stuck. Runs beside the control listener's clock, not on a thread that could be stuck too.
pub async fn stuck(board: Arc<Board>) {
    while !board.is_stuck() {
        sleep(BEAT).await;
    }
}

/// Checks the backend for ever, at every interval and whenever a lookup saw it fail. Runs on the lookup runtime.
pub async fn watch_backend(board: Arc<Board>, backend: Arc<Backend>, settings: HealthSettings, metrics: Arc<Metrics>) {
    let mut good = true;
    loop {
        tokio::select! {
            () = sleep(settings.interval) => {}
            () = async { sleep(CHECK_PAUSE.min(settings.interval)).await; backend.watchdog().check_wanted().await } => {}
        }
        let began = Instant::now();
        let result = backend.check(Deadline::after(settings.timeout)).await;
        metrics.backend_checked(result.is_ok(), began.elapsed());
        tell(good, &result);
        good = result.is_ok();
        board.checked(good);
    }
}

/// One line per change, not per check.
fn tell(was_good: bool, result: &Result<(), ProviderError>) {
    match result {
        Ok(()) if !was_good => tracing::info!("backend check succeeds again"),
        Err(error) if was_good => tracing::warn!(%error, "backend check failed"),
        Ok(()) => tracing::debug!("backend check succeeded"),
        Err(error) => tracing::debug!(%error, "backend check failed again"),
    }
}
