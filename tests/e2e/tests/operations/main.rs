//! What an operator sees and runs: metrics, alerts, log lines, manifests, packages, and an incident told by them alone.
//!
//! Everything runs the real executables; promtool is Prometheus's own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod alerts;
mod audit;
mod ground;
mod incident;
mod manifests;
mod page;
mod pages;
mod repeats;
mod series;
mod settings;
mod terminal;
