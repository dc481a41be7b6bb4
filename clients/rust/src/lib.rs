//! Client of the credgate lookup gateway.
//!
//! ```text
//! Settings ── Endpoint::prepare (files) ──▶ Endpoint ── dial ──▶ Connection ── lookup │ check │ any generated client
//!                                              └─── Client::new ──▶ Client ── lookup │ check   (dials, redials, retries)
//! ```
//!
//! A registrar makes one [`Client`] and clones it; a tool that wants to know which step failed calls [`dial`] itself.
//! Reading order: [`Settings`], [`Endpoint`], [`dial`], [`Connection`], [`Client`], and the errors each of them gives:
//! [`PrepareError`], [`DialError`], [`CallError`], [`LookupError`].
//!
//! With the feature `registrar`, `Registrar` stands before several clients: a cache that bridges outages, one question
//! at a time about each node, and failover between gateways.

#[cfg(feature = "arguments")]
mod arguments;
mod call;
mod chance;
mod client;
mod connection;
mod dial;
mod endpoint;
mod lookup;
mod password;
#[cfg(feature = "registrar")]
mod registrar;
mod settings;
mod verdict;
mod wire;

#[cfg(feature = "arguments")]
pub use arguments::Arguments;
pub use call::{CallError, code_name};
pub use client::Client;
pub use connection::Connection;
pub use dial::{dial, dial_address, resolve};
pub use endpoint::Endpoint;
pub use lookup::{LookupError, Reason};
pub use password::Password;
#[cfg(feature = "registrar")]
pub use registrar::{Answer, Credential, Grammar, Mode, NodeIds, Policy, PolicyError, Registrar, Unavailable, Verdict};
pub use settings::{PrepareError, Problem, Settings};
pub use tonic_health::pb::health_check_response::ServingStatus;
pub use verdict::{Cause, DialError, Step};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
