//! What the host itself says of a unit: which process it is, and which TCP sockets that process holds.
//!
//! ```text
//! Facts (what a wait asks) ◀── Host ──┬── manager: systemd (systemctl) │ launchd (launchctl) │ pid │ pid file
//!                                     └── tables:  proc (/proc) │ ss │ lsof
//! ```
//!
//! Decides nothing about answers. Every fact can be out of date when it is used, so a wait asks again before it
//! believes an answer.

mod host;
mod launchd;
mod lsof;
mod proc_net;
mod procfs;
mod program;
mod ps;
mod sockets;
mod ss;
mod systemd;
mod tables;

use std::fmt;

pub use host::{Host, Manager, Unit};
#[cfg(test)]
pub use sockets::Holder;
pub use sockets::{FarEnd, Socket, Table, Taker};
pub use tables::Tables;

/// A process, told apart from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// When it began, in the words of whoever was asked.
    pub start: String,
}

/// The unit's main process now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Main {
    /// It runs. `unsettled` says why the unit does not count as running all the same: it is starting, or stopping.
    Runs { process: Process, unsettled: Option<String> },
    /// There is none, and one is to come.
    Coming(String),
    /// There is none, and nobody starts one.
    Gone(String),
}

/// Why a fact cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The host refuses it, and will again.
    Refused(String),
    /// A program or a file failed: perhaps only this time.
    Failed(String),
}

/// What a wait asks of the host.
pub trait Facts {
    /// The unit's main process. Without `fresh` the manager's own word may be some seconds old, as long as the process
    /// that it named still runs.
    async fn main(&mut self, fresh: bool) -> Result<Main, Trouble>;

    /// The TCP sockets of this host's network, with a mark on those that the process or its descendants hold: all of
    /// them with `connections`, else those that listen.
    async fn sockets(&mut self, process: &Process, connections: bool) -> Result<Table, Trouble>;
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}
