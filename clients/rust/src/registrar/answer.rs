//! What a registrar is told: three answers that cannot be taken for one another.

use std::{fmt, time::Duration};

use crate::{Cause, DialError, LookupError, Password, Reason};

/// How a question about a node ends.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The node is known and enabled: compare its answer with the password.
    Credential(Credential),
    /// The node is unknown or disabled: refuse it as if its password were wrong. Nothing else means that.
    NotFound,
    /// It could not be found out, and no unexpired password is cached. Says nothing about the node: "try again later".
    Unavailable(Unavailable),
}

/// A node's password.
#[derive(Clone, Debug)]
pub struct Credential {
    /// Compare in constant time.
    pub password: Password,
    /// From the registrar's own cache. When the node's answer does not fit, the password may have changed meanwhile:
    /// call `verify_failed`, or let `verify` do all of it.
    pub cached: bool,
}

/// Why it could not be found out.
#[derive(Clone, Debug, thiserror::Error)]
#[error("unavailable: {0}")]
pub struct Unavailable(#[source] pub LookupError);

/// What `verify` found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The node proved that it knows the password.
    Accepted,
    /// Wrong password, unknown or disabled: one word for all three, so that the node learns no more either.
    Refused,
}

impl Unavailable {
    /// How long the gateway asks to wait before it is asked again, if it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0 {
            LookupError::Exhausted { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// One word for logs and counters, the same as of the Python client: the gateway's reason, or `NO_CONNECTION`,
    /// `NO_ANSWER`, or the status where that says it all.
    pub fn word(&self) -> &str {
        let given = |reason: &'_ Reason| reason.as_str().is_some();
        match &self.0 {
            LookupError::Unavailable { reason }
            | LookupError::Exhausted { reason, .. }
            | LookupError::InvalidRequest { reason }
            | LookupError::Internal { reason }
                if given(reason) =>
            {
                reason.as_str().unwrap_or_default()
            }
            LookupError::Exhausted { .. } => "RESOURCE_EXHAUSTED",
            LookupError::InvalidRequest { .. } => "INVALID_ARGUMENT",
            LookupError::Internal { .. } => "INTERNAL",
            LookupError::Authentication => "UNAUTHENTICATED",
            LookupError::Permission => "PERMISSION_DENIED",
            LookupError::TimedOut | LookupError::Dial(DialError { cause: Cause::TimedOut, .. }) => "NO_ANSWER",
            LookupError::Unavailable { .. } | LookupError::Dial(_) | LookupError::Disconnected => "NO_CONNECTION",
            LookupError::NotFound => "NOT_FOUND",
            LookupError::Unexpected(code) => crate::code_name(*code),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
        })
    }
}
