//! Metrics: every handle is made once, at start, with a constant set of labels.

mod handles;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use credgate_provider::Number;
use http::HeaderMap;
use metrics::{Counter, Gauge, Label, counter, describe_counter, describe_gauge, gauge, with_local_recorder};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tonic::Code;

use crate::{outcome::Outcome, principal::Refusal, rpc::Method};
pub use handles::DoorHandles;
use handles::{HEALTH_CODES, Handles};

/// All of them.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    handles: Handles,
    readings: Mutex<Vec<Reading>>,
}

/// Reads a value when somebody looks.
type Reading = Box<dyn Fn() + Send>;

/// Seconds: from a table in memory (10 µs) to the longest lookup.
const BUCKETS: [f64; 14] =
    [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5];

impl Metrics {
    /// Makes every handle.
    pub fn new() -> Result<Self, BuildError> {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS)?
            .build_recorder();
        let handles = with_local_recorder(&recorder, Handles::register);
        Ok(Self { handle: recorder.handle(), recorder, handles, readings: Mutex::default() })
    }

    /// Begins to count an RPC. One that is never ended was left by its caller.
    pub fn begin(&self, method: Method, arrival: Instant) -> Counted<'_> {
        Counted { handles: &self.handles, method, arrival, ended: false }
    }

    /// Authentication failed.
    pub fn authentication_failed(&self, refusal: Refusal) {
        self.handles.refusals[refusal as usize].increment(1);
    }

    /// A check of the backend ended.
    pub fn backend_checked(&self, good: bool, time: Duration) {
        self.handles.checks[usize::from(!good)].ended(time);
    }

    /// What is counted of one listener's connections.
    pub fn door(&self, listener: &str) -> &DoorHandles {
        let [lookup, control] = &self.handles.doors;
        if listener == handles::LISTENERS[0] { lookup } else { control }
    }

    /// Makes a gauge whose value is read at each scrape.
    pub fn gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Vec<Label>,
        read: impl Fn() -> usize + Send + 'static,
    ) {
        let gauge = with_local_recorder(&self.recorder, || {
            describe_gauge!(name, help);
            gauge!(name, labels)
        });
        self.readings().push(Box::new(move || set(&gauge, read() as u64)));
    }

    /// Makes a counter that somebody else counts, read at each scrape.
    pub fn counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: Vec<Label>,
        read: impl Fn() -> u64 + Send + 'static,
    ) {
        let counter = with_local_recorder(&self.recorder, || {
            describe_counter!(name, help);
            counter!(name, labels)
        });
        self.readings().push(Box::new(move || counter.absolute(read())));
    }

    /// Makes the handle of a number that a provider of this kind shows. A name that cannot stand on the page gets none.
    pub fn provided(&self, kind: &str, number: Number) -> Option<Provided> {
        if !number.is_well_named() {
            tracing::warn!(kind, "the provider shows a number whose name cannot be a metric's; it is left out");
            return None;
        }
        let name = format!("credgate_{}_{}", kind.replace(|c: char| !c.is_ascii_alphanumeric(), "_"), number.name);
        Some(with_local_recorder(&self.recorder, || match number.counts {
            true => {
                let name = format!("{name}_total");
                describe_counter!(name.clone(), number.help);
                Provided { name: number.name, handle: Handle::Counter(counter!(name)) }
            }
            false => {
                describe_gauge!(name.clone(), number.help);
                Provided { name: number.name, handle: Handle::Gauge(gauge!(name)) }
            }
        }))
    }

    /// The page that Prometheus reads (text format 0.0.4).
    pub fn render(&self) -> String {
        self.readings().iter().for_each(|read| read());
        self.handle.run_upkeep();
        self.handle.render()
    }

    fn readings(&self) -> MutexGuard<'_, Vec<Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle of a provider's number.
#[derive(Debug)]
pub struct Provided {
    name: &'static str,
    handle: Handle,
}

#[derive(Debug)]
enum Handle {
    Gauge(Gauge),
    Counter(Counter),
}

impl Provided {
    /// Takes its value from among the provider's numbers, if it is still there.
    pub fn update(&self, numbers: &[Number]) {
        let Some(number) = numbers.iter().find(|number| number.name == self.name) else { return };
        match &self.handle {
            Handle::Gauge(gauge) => set(gauge, number.value),
            Handle::Counter(counter) => counter.absolute(number.value),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nothing that is counted here comes near 2^53")]
fn set(gauge: &Gauge, value: u64) {
    gauge.set(value as f64);
}

/// Sums measured times up for as long as the gateway runs. Until then each of them takes 8 bytes, whether or not anybody ever
/// reads the page.
pub async fn sum_up(metrics: Arc<Metrics>) {
    let mut turns = interval(SUM_UP);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        metrics.handle.run_upkeep();
    }
}

/// 100,000 lookups a second leave 80 KB between two turns, which stay in the processor's caches.
const SUM_UP: Duration = Duration::from_millis(100);

/// One RPC being counted.
pub struct Counted<'a> {
    handles: &'a Handles,
    method: Method,
    arrival: Instant,
    ended: bool,
}

impl Counted<'_> {
    /// Counts the ending and hands it back.
    pub fn end(mut self, outcome: Outcome) -> Outcome {
        self.count(outcome);
        outcome
    }

    /// Counts the ending of a health RPC by the status in its headers; without one there it is OK so far.
    pub fn end_health(mut self, headers: &HeaderMap) {
        self.ended = true;
        let code = headers.get("grpc-status").map_or(Code::Ok, |value| Code::from_bytes(value.as_bytes()));
        let by_code = &self.handles.health[usize::from(self.method == Method::Watch)];
        let index = HEALTH_CODES.iter().position(|one| *one == code).unwrap_or(HEALTH_CODES.len() - 1);
        by_code[index].increment(1);
        if self.method == Method::Check {
            self.handles.health_seconds[index].record(self.arrival.elapsed());
        }
    }

    fn count(&mut self, outcome: Outcome) {
        self.ended = true;
        self.handles.rpcs[self.method as usize][outcome.index()].increment(1);
        if self.method == Method::Lookup {
            self.handles.seconds[outcome.index()].record(self.arrival.elapsed());
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.count(Outcome::Cancelled);
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl fmt::Debug for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted")
    }
}
