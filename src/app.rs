//! The gateway's life: start, serve, drain, exit. The only place that puts the rooms together.
//!
//! Start: signals, configuration, control listener, provider, first check, lookup listener. The drain goes backwards.

mod drain;
mod files;
mod gauges;
mod last_resort;
mod process;
mod start;

pub use start::{NotOpen, open};

use std::{path::Path, sync::Arc};

use credgate_provider::Kind;
use tokio::runtime::Builder;

use crate::{
    admission::Capacity,
    backend::Backend,
    cli::{self, Exit, err},
    door::Closing,
    health::{self, Board},
    shutdown::{Budget, Phases, Signals},
    supervisor, telemetry,
};

/// Tasks that a thread runs before it looks at the sockets again. tokio's default of 61 is long when a few connections are
/// always busy: honest lookups beside 8 floods of PING frames took 8 ms (p50) with it, and take 1.8 ms (measured).
const EVENT_INTERVAL: u32 = 16;

/// Runs the gateway until a signal ends it.
pub fn serve(path: &Path, kinds: &[Box<dyn Kind>]) -> Exit {
    let mut runtime = Builder::new_multi_thread();
    let runtime = match runtime.enable_all().event_interval(EVENT_INTERVAL).thread_name("lookup").build() {
        Ok(runtime) => runtime,
        Err(error) => {
            err!("credgate: the system gives no threads: {error}");
            return Exit::Failure;
        }
    };
    let exit = runtime.block_on(life(path, kinds));
    // Work that never ends must not keep the process: its threads end with it.
    runtime.shutdown_background();
    exit
}

async fn life(path: &Path, kinds: &[Box<dyn Kind>]) -> Exit {
    let mut signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => {
            err!("credgate: cannot handle signals: {error}");
            return Exit::Failure;
        }
    };
    let config = match config(path, kinds) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let (budget, exit_when_stuck) = (config.shutdown, config.health.exit_when_stuck);
    let started = tokio::select! {
        started = start::start(config) => started,
        signal = signals.stop() => {
            tracing::info!(signal, "stopped before it was ready");
            return Exit::Clean;
        }
    };
    match started {
        Ok(gateway) => {
            let (cause, is_stuck) = tokio::select! {
                signal = signals.stop() => (signal, false),
                () = health::stuck(Arc::clone(&gateway.board)), if exit_when_stuck => ("every slot is stuck", true),
            };
            tracing::info!(cause, within = %humantime::format_duration(budget.total()), "stopping");
            supervisor::stopping(budget.total());
            let exit = gateway.drain(&mut signals).await;
            // A supervisor restarts what fails: whatever healed on the way, this was no wish of somebody to stop.
            if is_stuck { Exit::Cut } else { exit }
        }
        Err(error) => {
            tracing::error!(%error, "cannot start");
            error.exit()
        }
    }
}

/// Problems go to standard error as a list; once logging is on, warnings go to the log.
fn config(path: &Path, kinds: &[Box<dyn Kind>]) -> Result<crate::config::Config, Exit> {
    let config = cli::load(path, kinds)?;
    telemetry::init(config.log);
    for warning in &config.warnings {
        tracing::warn!(%warning, "configuration");
    }
    let changed: Vec<_> = config.settings.iter().filter(|one| one.is_changed()).map(ToString::to_string).collect();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), changed = changed.join(", "), "settings");
    Ok(config)
}

/// A gateway that serves.
#[derive(Debug)]
struct Gateway {
    phases: Phases,
    board: Arc<Board>,
    lookups: Closing,
    control: Closing,
    in_flight: tokio_util::task::TaskTracker,
    capacity: Arc<Capacity>,
    backend: Arc<Backend>,
    budget: Budget,
}
