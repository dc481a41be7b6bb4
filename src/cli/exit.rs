//! Exit codes, after sysexits(3) where it has one.

use std::process::ExitCode;

/// How `credgate` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; also SIGTERM during start; `lookup`: found.
    Clean,
    /// An address that cannot be listened on, wrong usage, and whatever has no code of its own.
    Failure,
    /// `lookup`: unknown or disabled node.
    NotFound,
    /// `lookup`: unavailable or exhausted.
    Unavailable,
    /// `lookup`: authentication or permission.
    Refused,
    /// The store is unreachable, refuses us, or has the wrong shape; or opening took too long (EX_UNAVAILABLE).
    Store,
    /// A lookup was cut, or plugin work still ran, at the end of the drain (EX_TEMPFAIL).
    Cut,
    /// Configuration, certificates, CSV content, plugin import (EX_CONFIG).
    Configuration,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Failure => 1,
            Exit::NotFound => 2,
            Exit::Unavailable => 3,
            Exit::Refused => 4,
            Exit::Store => 69,
            Exit::Cut => 75,
            Exit::Configuration => 78,
        })
    }
}
