//! The real executable against real peers: exit code, the one line, the deadline, and no secret anywhere.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

#[path = "../../../clients/rust/tests/it/gateway.rs"]
mod gateway;
#[path = "../../../clients/rust/tests/it/peers.rs"]
mod peers;
#[path = "../../../clients/rust/tests/it/pki.rs"]
mod pki;

mod answers;
mod deadline;
mod refusals;
mod run;
mod usage;
