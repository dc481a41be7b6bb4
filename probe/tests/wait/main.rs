//! `check-source`, `await` and `waits`, sentence by sentence of what they promise, against real processes.
//!
//! Units are real gateways where their answer matters, and else a small program ([`ground::Unit`]); decoys are the same
//! again. systemd does not run in a test: an executable named `systemctl`, first on the `PATH` of the probe under test,
//! stands for it and prints what the test says ([`ground::Ground::says`]).

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

#[path = "../../../clients/rust/tests/it/gateway.rs"]
mod gateway;
#[path = "../../../clients/rust/tests/it/pki.rs"]
mod pki;

mod answers;
mod claims;
mod decoys;
mod endings;
mod ground;
mod places;
mod register;
mod script;
mod several;
mod sources;
mod tables;
