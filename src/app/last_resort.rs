//! The end of a gateway that cannot end itself.
//!
//! The drain and its bounds run on the lookup runtime. A provider that blocks the threads of that runtime stops them
//! too, so the control thread hears the same signals and ends the process when the drain has not.

use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    cli::Exit,
    shutdown::{Budget, Phase, Phases},
};

/// Ends the process when it outlives its budget after it was told to stop. Runs on the control thread.
pub async fn stand_by(phases: Phases, budget: Budget) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    let mut stop = async |phase: Phase| {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = phases.reached(phase), if phase < Phase::Closing => {}
        }
    };
    stop(Phase::LameDuck).await;
    tokio::select! {
        () = sleep(budget.total()) => {}
        () = async { stop(Phase::Closing).await; sleep(budget.hurried()).await } => {}
    }
    tracing::error!("still running after its whole budget: a provider blocks the lookup runtime");
    #[expect(clippy::disallowed_methods, reason = "main's own way out is blocked")]
    std::process::exit(Exit::Cut.code().into());
}
