//! The drain: every step bounded, and a second signal goes straight to the cut.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Gateway;
use crate::{
    cli::Exit,
    shutdown::{Phase, Signals},
    telemetry,
};

/// For the last bytes of finished answers to leave, once nothing is under way: a peer that does not read, or does not
/// answer the GOAWAY's PING, must not hold the exit up.
const FLUSH: Duration = Duration::from_millis(400);

impl Gateway {
    /// From the first signal to the exit code.
    pub(super) async fn drain(self, signals: &mut Signals) -> Exit {
        let (cut, hurried) = tokio::select! {
            cut = self.finish_lookups() => (cut, false),
            signal = signals.stop() => {
                tracing::warn!(signal, "second signal: cutting what is under way");
                (self.in_flight.len(), true)
            }
        };
        self.enter(Phase::Closing);
        self.lookups.goaway.cancel();
        self.lookups.kill.cancel();
        self.control.goaway.cancel();
        self.control.connections.close();
        if !hurried {
            // Watches on the control listener are told NOT_SERVING and end; then their connections can go. Connections
            // that have not gone by then are cut, so the time-out is no news.
            let _ = timeout(FLUSH, self.control.connections.wait()).await;
        }
        self.control.kill.cancel();
        self.close(cut).await
    }

    /// Lame duck, then no new lookups, then those under way, each within its budget. Returns how many did not finish; those
    /// that come later and are refused are none of them.
    async fn finish_lookups(&self) -> usize {
        self.enter(Phase::LameDuck);
        sleep(self.budget.lame_duck).await;
        self.enter(Phase::Draining);
        self.lookups.goaway.cancel();
        self.in_flight.close();
        self.lookups.connections.close();
        if timeout(self.budget.drain, self.in_flight.wait()).await.is_err() {
            let lookups = self.in_flight.len();
            tracing::warn!(lookups, "drain_timeout passed with lookups under way");
            return lookups;
        }
        // As above: what has not gone by then is cut.
        let _ = timeout(FLUSH, self.lookups.connections.wait()).await;
        0
    }

    async fn close(&self, cut: usize) -> Exit {
        let closed = timeout(self.budget.close, self.backend.close()).await.is_ok();
        let running = self.capacity.in_use();
        telemetry::tell_all_held_back();
        if cut > 0 || running > 0 || !closed {
            tracing::error!(
                lookups_cut = cut,
                work_running = running,
                provider_closed = closed,
                "stopped with work unfinished"
            );
            return Exit::Cut;
        }
        tracing::info!("stopped");
        Exit::Clean
    }

    fn enter(&self, phase: Phase) {
        self.phases.enter(phase);
        self.board.refresh();
    }
}
