//! The provider contract: what a credential store must answer, and what it is given.
//!
//! A provider is a crate of its own. Its life has two steps: [`Kind::prepare`] reads settings and local files (what
//! `credgate check-config` runs), then [`Prepared::open`] touches network, database or interpreter. From then on it is
//! a [`Provider`]: it looks nodes up, is checked, and is closed.
//!
//! ```text
//! Kind ── prepare(settings) ──▶ Prepared ── open ──▶ Provider ── lookup │ check │ close
//! ```
//!
//! The one rule above all others: `Ok(None)` means "no such node, or disabled", and nothing else. Registrars turn
//! it into "wrong password"; every error they turn into "try again later".
//!
//! Reading order: [`Provider`], [`ProviderError`], [`Deadline`], [`Slot`], then the values [`NodeId`] and [`Password`],
//! then [`settings`].

mod deadline;
mod error;
mod node;
mod number;
mod password;
mod provider;
mod report;
pub mod settings;
mod slot;

pub use deadline::Deadline;
pub use error::{Detail, OpenError, ProviderError};
pub use node::{Grammar, InvalidNodeId, NodeId, NodeIdRule};
pub use number::Number;
pub use password::{Password, PasswordFault, PasswordRule, parse_enabled};
pub use provider::{BoxFuture, Kind, Prepared, Provider, Site};
pub use report::{Effective, Problem, Report};
pub use slot::Slot;
