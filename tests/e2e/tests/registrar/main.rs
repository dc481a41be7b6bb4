//! From a node's registration to a verified answer: both clients pass one table of scenarios, and the example registrars
//! are tried with nodes that lose packets and gateways that go away.
//!
//! Reading order: `ground` (gateways at places of their own), `subject` (a client of either language), `scenarios` (the
//! table), then any.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod ground;
mod subject;

mod examples;
mod kamailio;
mod package;
mod scenarios;
