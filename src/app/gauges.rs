//! What is read at each scrape rather than counted as it happens.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use metrics::Label;
use tokio::time::interval;

use super::process;
use crate::{
    admission::Scope,
    backend::Backend,
    door::Limits,
    health::{Board, HealthService},
    lookup::Lookup,
    shutdown::Phase,
    telemetry::{Metrics, Provided},
};

/// What is known of any process, by the names that all Prometheus clients use.
pub fn of_the_process(metrics: &Metrics) {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let gauge = |name, help, read: fn() -> usize| metrics.gauge(name, help, Vec::new(), read);
    metrics.gauge("process_start_time_seconds", "When the process began, in Unix time", Vec::new(), move || {
        usize::try_from(seconds).unwrap_or_default()
    });
    gauge("process_resident_memory_bytes", "Resident memory", process::resident_memory);
    gauge("process_open_fds", "Open file descriptors", process::open_descriptors);
    gauge("process_max_fds", "File descriptors that there may be", process::most_descriptors);
}

/// Whether it serves, how it stands, and how far through its life it is.
pub fn health(metrics: &Metrics, board: &Arc<Board>) {
    let gauge = |name, help, read: fn(&Board) -> bool| {
        let board = Arc::clone(board);
        metrics.gauge(name, help, Vec::new(), move || usize::from(read(&board)));
    };
    gauge("credgate_ready", "1 while readiness is SERVING", |board| board.verdicts().readiness);
    gauge("credgate_live", "1 while liveness is SERVING", |board| board.verdicts().liveness);
    gauge("credgate_stuck", "1 while every slot is held by work that is long past its deadline", Board::is_stuck);
    for phase in Phase::ALL {
        let board = Arc::clone(board);
        let labels = vec![Label::from_static_parts("phase", phase.word())];
        metrics.gauge("credgate_phase", "1 for the phase of the gateway's life, 0 for the others", labels, move || {
            usize::from(board.phases().now() == phase)
        });
    }
}

/// When each loaded certificate ends: it does not change while the gateway runs.
pub fn certificates(metrics: &Metrics, expiry: &[(&'static str, SystemTime)]) {
    for (index, (key, end)) in expiry.iter().enumerate() {
        let position = 1 + expiry[..index].iter().filter(|(other, _)| other == key).count();
        let seconds = end.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let labels = vec![Label::from_static_parts("key", key), Label::new("position", format!("{position}"))];
        metrics.gauge(
            "credgate_certificate_expiry_timestamp_seconds",
            "When each loaded certificate ends, in Unix time",
            labels,
            move || usize::try_from(seconds).unwrap_or(usize::MAX),
        );
    }
}

/// One listener's limit of connections and its Watches.
pub fn listener(metrics: &Metrics, name: &'static str, limits: Limits, health: HealthService) {
    let labels = || vec![Label::from_static_parts("listener", name)];
    metrics.gauge("credgate_connections_limit", "Connections that may be open", labels(), move || limits.connections);
    metrics.gauge("credgate_watches", "Open health Watches", labels(), move || health.watches());
}

/// Slots, queue, limits, and the files behind the configuration.
pub fn lookups(metrics: &Metrics, lookup: &Arc<Lookup>, queue: usize, differing: Arc<AtomicUsize>) {
    metrics.gauge(
        "credgate_files_differ",
        "Loaded files that now differ on disk, or are gone",
        Vec::new(),
        move || differing.load(Ordering::Relaxed),
    );
    metrics.gauge("credgate_queue_limit", "Lookups that may wait for a slot", Vec::new(), move || queue);
    let gauge = |name, help, read: fn(&Lookup) -> usize| {
        let lookup = Arc::clone(lookup);
        metrics.gauge(name, help, Vec::new(), move || read(&lookup));
    };
    gauge("credgate_slots", "Lookups that can run at once", |lookup| lookup.capacity.total());
    gauge("credgate_slots_in_use", "Slots taken by lookups and by work whose caller has left", |lookup| {
        lookup.capacity.in_use()
    });
    gauge("credgate_slots_overdue", "Slots taken by work that is past its deadline", |lookup| {
        lookup.capacity.overdue()
    });
    gauge("credgate_queue", "Lookups that wait for a slot", |lookup| lookup.capacity.waiting());
    gauge("credgate_lookups_in_flight", "Admitted lookups whose callers wait for an answer", |lookup| {
        lookup.in_flight.len()
    });
    gauge("credgate_outage", "1 while lookups are refused at once because the backend does not answer", |lookup| {
        usize::from(lookup.backend.watchdog().is_on())
    });
    let mode = if lookup.rate.is_shadow() { "shadow" } else { "refuse" };
    for scope in Scope::ALL {
        let lookup = Arc::clone(lookup);
        let labels = vec![Label::from_static_parts("limit", scope.label()), Label::from_static_parts("mode", mode)];
        let help = "Lookups over a limit of [rate], refused or (mode=shadow) not";
        metrics.counter("credgate_rate_limit_exceeded_total", help, labels, move || lookup.rate.count_over(scope));
    }
}

/// The provider's own numbers, read for ever. On the lookup runtime, as everything of a provider: one that blocks must
/// not hold the scrape up, nor the control listener beside it.
pub async fn watch_provider(metrics: Arc<Metrics>, kind: &'static str, backend: Arc<Backend>) {
    let first = backend.numbers();
    let provided: Vec<Provided> = first.iter().filter_map(|number| metrics.provided(kind, *number)).collect();
    if provided.is_empty() {
        return;
    }
    let mut ticks = interval(READ);
    loop {
        ticks.tick().await;
        let numbers = backend.numbers();
        provided.iter().for_each(|one| one.update(&numbers));
    }
}

/// Between two readings of a provider's numbers: more often than anybody scrapes.
const READ: Duration = Duration::from_secs(1);
