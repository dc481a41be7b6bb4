//! The handles, their names and their label values: everything that is counted as it happens.

use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use tonic::Code;

use crate::{door::Failure, outcome::Outcome, principal::Refusal, rpc::Method};

/// The two listeners that take connections.
pub const LISTENERS: [&str; 2] = ["lookup", "control"];

/// Codes that a health RPC ends with; the last stands for any other.
pub const HEALTH_CODES: [Code; 5] =
    [Code::Ok, Code::NotFound, Code::ResourceExhausted, Code::InvalidArgument, Code::Internal];

/// All of them.
pub struct Handles {
    /// By method and outcome.
    pub rpcs: [[Counter; Outcome::COUNT]; 4],
    /// By code, for Check and Watch.
    pub health: [[Counter; HEALTH_CODES.len()]; 2],
    /// Of lookups, by outcome.
    pub seconds: [Histogram; Outcome::COUNT],
    /// Of Check, by code.
    pub health_seconds: [Histogram; HEALTH_CODES.len()],
    /// By cause.
    pub refusals: [Counter; Refusal::ALL.len()],
    /// Good ones and failed ones.
    pub checks: [Checks; 2],
    /// By listener.
    pub doors: [DoorHandles; 2],
}

/// Checks of the backend that ended one way.
pub struct Checks {
    count: Counter,
    seconds: Histogram,
}

impl Checks {
    /// One more.
    pub fn ended(&self, time: Duration) {
        self.count.increment(1);
        self.seconds.record(time);
    }
}

/// What is counted of one listener's connections.
#[derive(Debug)]
pub struct DoorHandles {
    accepted: Counter,
    /// Open ones.
    pub open: Gauge,
    /// Those that were refused or came to nothing, by cause.
    pub failed: [Counter; Failure::ALL.len()],
}

impl DoorHandles {
    /// A connection was let in.
    pub fn came(&self) {
        self.accepted.increment(1);
        self.open.increment(1);
    }
}

impl Handles {
    /// Makes them, on the recorder of the moment.
    pub fn register() -> Self {
        describe();
        gauge!("credgate_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        let health = |method| HEALTH_CODES.map(|code| counter!("credgate_rpcs_total", labels(method, code, "")));
        Self {
            rpcs: [Method::Lookup, Method::Check, Method::Watch, Method::Unknown].map(rpcs),
            health: [health(Method::Check), health(Method::Watch)],
            seconds: Outcome::ALL.map(|outcome| match outcome {
                Outcome::Unimplemented => Histogram::noop(),
                _ => histogram!("credgate_lookup_seconds", vec![code(outcome.row().code), reason(outcome)]),
            }),
            health_seconds: HEALTH_CODES.map(|status| histogram!("credgate_health_check_seconds", vec![code(status)])),
            refusals: Refusal::ALL
                .map(|refusal| counter!("credgate_authentication_failures_total", "cause" => refusal.label())),
            checks: ["ok", "failed"].map(|result| Checks {
                count: counter!("credgate_backend_checks_total", "result" => result),
                seconds: histogram!("credgate_backend_check_seconds", "result" => result),
            }),
            doors: LISTENERS.map(door),
        }
    }
}

fn rpcs(method: Method) -> [Counter; Outcome::COUNT] {
    Outcome::ALL.map(|outcome| {
        // What can end a call before the health service answers it.
        let early = matches!(
            outcome,
            Outcome::Unauthenticated | Outcome::InvalidRequest | Outcome::Unimplemented | Outcome::Cancelled
        );
        match method == Method::Lookup || early {
            true => {
                counter!("credgate_rpcs_total", vec![method_label(method), code(outcome.row().code), reason(outcome)])
            }
            false => Counter::noop(),
        }
    })
}

fn door(listener: &'static str) -> DoorHandles {
    DoorHandles {
        accepted: counter!("credgate_connections_accepted_total", "listener" => listener),
        open: gauge!("credgate_connections", "listener" => listener),
        failed: Failure::ALL.map(
            |failure| counter!("credgate_connections_failed_total", "listener" => listener, "cause" => failure.label()),
        ),
    }
}

fn labels(method: Method, status: Code, reason: &'static str) -> Vec<Label> {
    vec![method_label(method), code(status), Label::from_static_parts("reason", reason)]
}

fn method_label(method: Method) -> Label {
    Label::from_static_parts("method", method.label())
}

fn code(code: Code) -> Label {
    Label::from_static_parts("code", credgate_client::code_name(code))
}

fn reason(outcome: Outcome) -> Label {
    Label::from_static_parts("reason", outcome.row().reason.unwrap_or_default())
}

fn describe() {
    describe_gauge!("credgate_build_info", "Always 1; the version is a label");
    describe_counter!("credgate_rpcs_total", "RPCs by method, status code and reason");
    describe_histogram!("credgate_lookup_seconds", "Time from the arrival of a lookup to its answer");
    describe_histogram!("credgate_health_check_seconds", "Time from the arrival of a health Check to its answer");
    describe_counter!("credgate_authentication_failures_total", "Calls refused as UNAUTHENTICATED, by cause");
    describe_counter!("credgate_backend_checks_total", "Checks of the backend, by result");
    describe_histogram!("credgate_backend_check_seconds", "How long checks of the backend took");
    describe_counter!("credgate_connections_accepted_total", "Connections that were let in");
    describe_gauge!("credgate_connections", "Open connections");
    describe_counter!(
        "credgate_connections_failed_total",
        "Connections refused, or without any authenticated RPC, by cause"
    );
}
