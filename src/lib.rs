//! credgate: the credential-lookup gateway of a SIP/IAX-style network.
//!
//! Registrars ask it over authenticated gRPC for a node's password; it asks one credential store, under a deadline, and
//! tells the truth about what it could not find out.
//!
//! ```text
//! accept ─▶ TLS ─▶ authenticate ─▶ authorise ─▶ rate ─▶ parse ─▶ capacity ─▶ provider ─▶ outcome ─▶ status
//! door      tls    principal                    admission::rate     ::capacity            outcome (one table)
//!   ◀──────────── the Deadline runs through every room ────────────▶
//! ```
//!
//! Arrows run one way: main → lib → cli → app → rooms → the provider contract. A room returns its own small error; only
//! [`outcome`] builds a status; only [`app`] puts the rooms together; only [`registry`] names provider crates.
//!
//! Reading order: [`lookup`] (the corridor), [`rpc`], [`outcome`], [`principal`], [`admission`], [`backend`]; then
//! [`door`], [`health`], [`shutdown`] and [`app`]; [`config`] and [`cli`] last.

pub mod admission;
pub mod app;
pub mod backend;
pub mod cli;
pub mod config;
pub mod door;
pub mod health;
mod jitter;
pub mod lookup;
pub mod outcome;
pub mod principal;
pub mod registry;
pub mod rpc;
pub mod shutdown;
pub mod supervisor;
pub mod telemetry;
mod within;

use std::process::ExitCode;

use credgate_provider::Kind;

/// The whole program, with kinds of provider beside the built-in ones. A third party's `main` is this call.
pub fn run(more: Vec<Box<dyn Kind>>) -> ExitCode {
    let kinds: Vec<_> = registry::kinds().into_iter().chain(more).collect();
    let exit = cli::run(&kinds);
    registry::leave(exit.code());
    exit.into()
}
