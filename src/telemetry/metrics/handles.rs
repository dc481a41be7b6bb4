//! The handles, their names and their label values: everything that is ever on the page beside the gauges.

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

/// Everything that is counted as it happens.
pub struct Handles {
    /// By method and outcome.
    pub rpcs: [[Counter; Outcome::COUNT]; 4],
    /// By code, for Check and Watch.
    pub health: [[Counter; HEALTH_CODES.len()]; 2],
    /// Of lookups, by outcome.
    pub seconds: [Histogram; Outcome::COUNT],
    /// By cause.
    pub refusals: [Counter; Refusal::ALL.len()],
    /// Good ones and failed ones.
    pub checks: [Counter; 2],
    /// By listener.
    pub doors: [DoorHandles; 2],
}

/// What is counted of one listener's connections.
#[derive(Debug)]
pub struct DoorHandles {
    /// Open ones.
    pub open: Gauge,
    /// Those that were refused or came to nothing, by cause.
    pub failed: [Counter; Failure::ALL.len()],
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
            refusals: Refusal::ALL
                .map(|refusal| counter!("credgate_authentication_failures_total", "cause" => refusal.label())),
            checks: ["ok", "failed"].map(|result| counter!("credgate_backend_checks_total", "result" => result)),
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
    describe_counter!("credgate_rpcs_total", "RPCs by method, status code and reason");
    describe_histogram!("credgate_lookup_seconds", "Time from the arrival of a lookup to its answer");
    describe_counter!("credgate_authentication_failures_total", "Calls refused as UNAUTHENTICATED, by cause");
    describe_counter!("credgate_backend_checks_total", "Checks of the backend, by result");
    describe_gauge!("credgate_connections", "Open connections");
    describe_counter!(
        "credgate_connections_failed_total",
        "Connections refused, or without any authenticated RPC, by cause"
    );
    describe_gauge!("credgate_ready", "1 while readiness is SERVING");
    describe_counter!(
        "credgate_rate_limit_exceeded_total",
        "Lookups over a limit of [rate], refused or (mode=shadow) not"
    );
    describe_gauge!("credgate_slots", "Lookups that can run at once");
    describe_gauge!("credgate_slots_in_use", "Slots taken by lookups and by work whose caller has left");
    describe_gauge!("credgate_slots_overdue", "Slots taken by work that is past its deadline");
    describe_gauge!("credgate_outage", "1 while lookups are refused at once because the backend does not answer");
    describe_gauge!("credgate_queue", "Lookups that wait for a slot");
    describe_gauge!("credgate_files_differ", "Loaded files that now differ on disk, or are gone");
    describe_gauge!("credgate_certificate_expiry_timestamp_seconds", "When each loaded certificate ends, in Unix time");
    describe_gauge!("credgate_build_info", "Always 1; the version is a label");
}
