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

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failure => 1,
            Self::NotFound => 2,
            Self::Unavailable => 3,
            Self::Refused => 4,
            Self::Store => 69,
            Self::Cut => 75,
            Self::Configuration => 78,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
