//! What the tests are made of: a deployment, the processes of it, a CA, raw HTTP/2, a scripted provider, databases.
//!
//! ```text
//! Deployment ── start ──▶ Gateway ── lookup │ control │ metrics addresses, log, signals, exit
//!   │ pki, nodes, credgate.toml          ▲
//!   └─ target(identity, address) ──▶ rawh2, grpc, wire
//! ```
//!
//! Reading order: [`deployment`], [`process`], then what a test needs of [`grpc`], [`rawh2`], [`wire`], [`metrics`],
//! [`scripted`], [`provider`], [`plugins`], [`canary`], [`python`], [`registrars`], [`database`], [`proxy`]. Whatever goes
//! wrong in here ends the test with a sentence that shows what was seen; every wait has a bound.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

pub mod canary;
pub mod database;
pub mod deployment;
pub mod flood;
pub mod grpc;
pub mod metrics;
pub mod pgbouncer;
pub mod pki;
pub mod plugins;
pub mod process;
pub mod provider;
pub mod proxy;
pub mod python;
pub mod rawh2;
pub mod registrars;
pub mod scripted;
pub mod wire;
