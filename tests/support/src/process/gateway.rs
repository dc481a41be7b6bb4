//! A gateway that serves: its process and where it listens.

use std::{net::SocketAddr, ops::Deref, time::Duration};

use super::{Line, Process};

/// A ready gateway. Everything a [`Process`] can do, it can.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    /// Lookups and health.
    pub lookup: SocketAddr,
    /// Health alone.
    pub control: SocketAddr,
    /// Prometheus metrics, when they are on.
    pub metrics: Option<SocketAddr>,
}

impl Gateway {
    /// How long a start may take: generous, for machines that compile meanwhile.
    pub const START: Duration = Duration::from_secs(60);

    /// Waits until a started process says `ready`.
    #[track_caller]
    pub fn ready(process: Process) -> Self {
        process.log.wait_for(|line| line.says("ready"), Self::START);
        Self {
            lookup: address(&process, "lookup"),
            control: address(&process, "control"),
            metrics: listening(&process.log.lines(), "metrics"),
            process,
        }
    }
}

/// The address of a listener, waited for.
#[track_caller]
pub fn address(process: &Process, listener: &str) -> SocketAddr {
    let line = process.log.wait_for(|line| is_listening(line, listener), Gateway::START);
    listening(&[line], listener).unwrap()
}

impl Deref for Gateway {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

fn is_listening(line: &Line, listener: &str) -> bool {
    line.says("listening") && line.field("listener") == Some(listener)
}

fn listening(lines: &[Line], listener: &str) -> Option<SocketAddr> {
    let line = lines.iter().find(|line| is_listening(line, listener))?;
    let address = line.field("address").unwrap_or_default();
    Some(address.parse().unwrap_or_else(|error| panic!("{}: {error}", line.text)))
}
