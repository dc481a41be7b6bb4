//! The client against real connections: every step's sentence, the contract's endings, restarts, and many calls.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod dialling;
mod gateway;
mod lookups;
mod peers;
mod pki;
mod restarts;
mod script;
mod settings;
