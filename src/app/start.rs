//! The start, in its fixed order, and the ways it can fail.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use credgate_provider::{Deadline, OpenError, Provider, ProviderError};
use futures::FutureExt as _;
use tokio::{
    runtime::Builder,
    time::{sleep, timeout_at},
};
use tonic_health::pb::health_server::HealthServer;

use super::{Gateway, files, gauges, last_resort, process};
use crate::{
    admission::{Capacity, Rate},
    backend::Backend,
    cli::Exit,
    config::{Config, ProviderSettings},
    door::{self, Closing, Door, Limits},
    health::{self, Board, HealthService, HealthSettings},
    lookup::Lookup,
    principal::{Identities, Refusal},
    rpc::Rpc,
    shutdown::{Budget, Phase, Phases},
    supervisor,
    telemetry::{self, Metrics, OutcomeLog, Pages, Repeats},
};

/// Why the gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("{listener} listener: cannot listen on {address}: {source}")]
    Bind {
        /// Which.
        listener: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system gives no thread or runtime.
    #[error("no resources: {0}")]
    System(#[from] io::Error),
    /// A metric cannot be made.
    #[error("metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    /// The credential store does not open.
    #[error("credential store: {0}")]
    Store(#[from] NotOpen),
}

/// Why the credential store does not open.
#[derive(Debug, thiserror::Error)]
pub enum NotOpen {
    /// The provider says why.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// It took longer than `provider.open_timeout`.
    #[error("did not open within provider.open_timeout ({0})")]
    TimedOut(humantime::FormattedDuration),
    /// It opened, and its first check failed.
    #[error("opened, and its first check failed: {0}")]
    Check(#[from] ProviderError),
    /// It panicked.
    #[error("the provider panicked while opening")]
    Panicked,
}

impl NotOpen {
    /// Its exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Open(OpenError::Configuration(_)) => Exit::Configuration,
            Self::Open(OpenError::Unavailable(_)) | Self::TimedOut(_) => Exit::Store,
            Self::Check(ProviderError::Unavailable(_) | ProviderError::TimedOut(_)) => Exit::Store,
            Self::Check(_) | Self::Panicked => Exit::Failure,
        }
    }
}

impl StartError {
    /// Its exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            _ => Exit::Failure,
        }
    }
}

/// Opens a prepared provider within its bound.
pub async fn open(settings: ProviderSettings) -> Result<Backend, NotOpen> {
    let deadline = Deadline::after(settings.open_timeout);
    let opening = AssertUnwindSafe(async { settings.prepared.open(deadline).await }).catch_unwind();
    match timeout_at(deadline.at(), opening).await {
        Ok(Ok(opened)) => {
            let provider: Arc<dyn Provider> = opened?.into();
            tracing::info!(kind = settings.kind, summary = provider.summary(), "provider open");
            Ok(Backend::new(provider))
        }
        Ok(Err(_)) => Err(NotOpen::Panicked),
        Err(_) => Err(NotOpen::TimedOut(humantime::format_duration(settings.open_timeout))),
    }
}

/// Starts everything, in order.
pub(super) async fn start(config: Config) -> Result<Gateway, StartError> {
    process::raise_descriptor_limit();
    process::forbid_core_dumps();
    let phases = Phases::new();
    let board = Arc::new(Board::new(phases.clone(), config.health.max_age, config.health.stuck_after));
    let metrics = Arc::new(Metrics::new()?);
    gauges::of_the_process(&metrics);
    gauges::health(&metrics, &board);
    gauges::certificates(&metrics, &config.tls.expiry);
    let identities = Arc::new(config.identities);
    let front = Front { board: &board, metrics: &metrics, identities: &identities, health: config.health };
    tokio::spawn(health::heartbeat(Arc::clone(&board)));

    let control = Closing::default();
    let control_door = Door {
        name: "control",
        listener: listen("control", config.control)?,
        tls: config.tls.server.clone(),
        limits: config.control_limits,
        rpc: front.rpc("control", config.control_limits, None, Phase::Closing),
        closing: control.clone(),
    };
    let pages = config.metrics.map(|address| listen("metrics", address)).transpose()?;
    let content = Pages { metrics: Arc::clone(&metrics), board: Arc::clone(&board) };
    run_control(control_door, pages, content, config.shutdown)?;

    let kind = config.provider.kind;
    let backend = Arc::new(open(config.provider).await?);
    backend.check(Deadline::after(config.health.timeout)).await.map_err(NotOpen::from)?;
    board.checked(true);
    tokio::spawn(health::watch_backend(Arc::clone(&board), Arc::clone(&backend), config.health, Arc::clone(&metrics)));

    let capacity = Arc::new(Capacity::new(config.lookup.slots.unwrap_or(1), config.lookup.queue));
    board.watch_slots(Arc::clone(&capacity));
    let lookup = Arc::new(Lookup {
        phases: phases.clone(),
        rate: Rate::new(config.rate, identities.len()),
        timeout: config.lookup.timeout,
        node_ids: config.lookup.node_ids,
        capacity: Arc::clone(&capacity),
        backend: Arc::clone(&backend),
        in_flight: Default::default(),
        log: OutcomeLog::default(),
        audit: config.log.audit.then(|| Arc::clone(&identities)),
    });
    let in_flight = lookup.in_flight.clone();
    let lookups = Closing::default();
    let lookup_door = Door {
        name: "lookup",
        listener: listen("lookup", config.listen)?,
        tls: config.tls.server,
        limits: config.lookup_limits,
        rpc: front.rpc("lookup", config.lookup_limits, Some(Arc::clone(&lookup)), Phase::Draining),
        closing: lookups.clone(),
    };
    tokio::spawn(lookup_door.serve());
    tokio::spawn(tidy(Arc::clone(&lookup)));
    let differing = Arc::new(AtomicUsize::new(0));
    tokio::spawn(files::watch(config.files, config.health.file_interval, Arc::clone(&differing)));
    gauges::lookups(&metrics, &lookup, config.lookup.queue, differing);
    tokio::spawn(gauges::watch_provider(metrics, kind, backend.clone()));

    phases.enter(Phase::Serving);
    board.refresh();
    tracing::info!(stops_within = %humantime::format_duration(config.shutdown.total()), "ready");
    supervisor::ready("serving");
    Ok(Gateway { phases, board, lookups, control, in_flight, capacity, backend, budget: config.shutdown })
}

/// What both listeners answer with.
struct Front<'a> {
    board: &'a Arc<Board>,
    metrics: &'a Arc<Metrics>,
    identities: &'a Arc<Identities>,
    health: HealthSettings,
}

impl Front<'_> {
    /// The RPCs of one listener, whose Watches end when `until` is reached.
    fn rpc(&self, name: &'static str, limits: Limits, lookup: Option<Arc<Lookup>>, until: Phase) -> Arc<Rpc> {
        let health = HealthService::new(Arc::clone(self.board), self.health.watch, until, self.identities.len());
        gauges::listener(self.metrics, name, limits, health.clone());
        Arc::new(Rpc {
            identities: Arc::clone(self.identities),
            lookup,
            health: HealthServer::new(health).max_decoding_message_size(HEALTH_MESSAGE),
            metrics: Arc::clone(self.metrics),
            refusals: Refusal::ALL.map(|refusal| Repeats::of("authentication failed", refusal.label())),
        })
    }
}

/// Binds and tells where: the configured port may be 0.
fn listen(listener: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    let socket = door::bind(address).map_err(|source| StartError::Bind { listener, address, source })?;
    let address = socket.local_addr()?;
    tracing::info!(listener, %address, "listening");
    Ok(socket)
}

/// Gives the control listener, the metrics pages and the publisher a thread and a runtime of their own, which nothing
/// that happens to lookups can slow down.
fn run_control(door: Door, pages: Option<TcpListener>, content: Pages, budget: Budget) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("control".into()).spawn(move || {
        runtime.block_on(async {
            tokio::spawn(health::publish(Arc::clone(&content.board)));
            tokio::spawn(last_resort::stand_by(content.board.phases().clone(), budget));
            tokio::spawn(telemetry::tell_held_back());
            tokio::spawn(telemetry::sum_up(Arc::clone(&content.metrics)));
            tokio::spawn(supervisor::keep_told(Arc::clone(&content.board)));
            if let Some(listener) = pages {
                tokio::spawn(telemetry::serve(listener, content));
            }
            if let Err(error) = door.serve().await {
                tracing::error!(%error, "control listener failed");
            }
            // Connections that are open are served until the process ends.
            std::future::pending::<()>().await;
        });
    })?;
    Ok(())
}

/// Forgets idle keys of the rate limiter.
async fn tidy(lookup: Arc<Lookup>) {
    loop {
        sleep(TIDY).await;
        lookup.rate.tidy();
    }
}

/// Largest health request in bytes: a service name.
const HEALTH_MESSAGE: usize = 1024;

/// Between two rounds through the rate limiter's table (9 ms for a million keys, measured).
const TIDY: Duration = Duration::from_secs(60);
