//! Plugins before the real gateway: whatever a plugin does, the gateway is honest about it and lives.
//!
//! Reading order: `ground`, then `behaviour` (what ends by itself), `stuck` (what never does), and the rest.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod ground;

mod behaviour;
mod environment;
mod examples;
mod opening;
mod package;
mod speech;
mod stopping;
mod stuck;
