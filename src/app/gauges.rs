//! What is read at each scrape rather than counted as it happens.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use metrics::Label;

use crate::{admission::Scope, health::Board, lookup::Lookup, telemetry::Metrics};

/// When each loaded certificate ends: it does not change while the gateway runs.
pub fn certificates(metrics: &Metrics, expiry: &[(&'static str, SystemTime)]) {
    for (position, (key, end)) in (1..).zip(expiry) {
        let seconds = end.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let labels = vec![Label::from_static_parts("key", key), Label::new("position", format!("{position}"))];
        metrics.gauge("credgate_certificate_expiry_timestamp_seconds", labels, move || {
            usize::try_from(seconds).unwrap_or(usize::MAX)
        });
    }
}

/// Registers them.
pub fn register(metrics: &Metrics, board: &Arc<Board>, lookup: &Arc<Lookup>, differing: Arc<AtomicUsize>) {
    let ready = Arc::clone(board);
    metrics.gauge("credgate_ready", Vec::new(), move || usize::from(ready.verdicts().readiness));
    metrics.gauge("credgate_files_differ", Vec::new(), move || differing.load(Ordering::Relaxed));
    let gauge = |name, read: fn(&Lookup) -> usize| {
        let lookup = Arc::clone(lookup);
        metrics.gauge(name, Vec::new(), move || read(&lookup));
    };
    gauge("credgate_slots", |lookup| lookup.capacity.total());
    gauge("credgate_slots_in_use", |lookup| lookup.capacity.in_use());
    gauge("credgate_slots_overdue", |lookup| lookup.capacity.overdue());
    gauge("credgate_queue", |lookup| lookup.capacity.waiting());
    gauge("credgate_outage", |lookup| usize::from(lookup.backend.watchdog().is_on()));
    let mode = if lookup.rate.is_shadow() { "shadow" } else { "refuse" };
    for scope in Scope::ALL {
        let lookup = Arc::clone(lookup);
        let labels = vec![Label::from_static_parts("limit", scope.label()), Label::from_static_parts("mode", mode)];
        metrics.counter("credgate_rate_limit_exceeded_total", labels, move || lookup.rate.count_over(scope));
    }
}
