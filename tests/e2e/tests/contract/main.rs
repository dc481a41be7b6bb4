//! The contract of the gateway, tried on its real executables: how each call ends, who may call, what happens when there
//! is no room, what health says, how it goes.
//!
//! Reading order: `row` (the outcome table as callers see it) and `ground` (the few words all modules use), then any.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod ground;
mod row;

mod abandoned;
mod authentication;
mod capacity;
mod certificates;
mod deaf;
mod drain;
mod drain_cut;
mod drain_strangers;
mod files;
mod harmless;
mod health;
mod health_watch;
mod lookup_command;
mod many_calls;
mod outage;
mod outcomes;
mod places;
mod probe_command;
mod rates;
mod requests;
mod start;
mod strangers;
mod stuck;
mod timeouts;
