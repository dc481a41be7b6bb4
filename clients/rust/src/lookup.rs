//! How a lookup ends when there is no password: the contract's endings, and what the network adds.
//!
//! One rule above all others: [`LookupError::NotFound`] is the gateway's own word for "no such node, or disabled". A
//! registrar turns it into "wrong password" and everything else into "try again later", so no proxy's 404, no other
//! service's NOT_FOUND and no broken connection may become it.

use std::{fmt, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::{CallError, DialError, code_name};

/// Why a lookup has no password.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LookupError {
    /// The node is unknown or disabled (NOT_FOUND with reason NODE_NOT_FOUND, nothing else).
    #[error("the node is unknown or disabled")]
    NotFound,
    /// The gateway or its store cannot answer now: `BACKEND_UNAVAILABLE`, `BACKEND_TIMEOUT`, `DRAINING`.
    #[error("unavailable ({reason})")]
    Unavailable {
        /// The gateway's reason.
        reason: Reason,
    },
    /// The gateway has no room: `RATE_LIMITED`, `AT_CAPACITY`.
    #[error("exhausted ({reason})")]
    Exhausted {
        /// The gateway's reason.
        reason: Reason,
        /// How long to wait before asking again.
        retry_after: Option<Duration>,
    },
    /// The gateway does not accept the token, or the client certificate belongs to another identity.
    #[error("the gateway does not accept this token, or the certificate belongs to another identity")]
    Authentication,
    /// The identity may not ask for credentials.
    #[error("this identity may not look credentials up")]
    Permission,
    /// The question itself is at fault: `INVALID_NODE_ID`, `INVALID_REQUEST`.
    #[error("invalid request ({reason})")]
    InvalidRequest {
        /// The gateway's reason.
        reason: Reason,
    },
    /// The stored record or the provider is at fault: `CORRUPT_RECORD`, `PROVIDER_DEFECT`; also an empty answer.
    #[error("internal error of the gateway ({reason})")]
    Internal {
        /// The gateway's reason.
        reason: Reason,
    },
    /// There is no connection to the gateway.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// No answer within the deadline.
    #[error("no answer within the deadline")]
    TimedOut,
    /// The connection ended before the answer.
    #[error("the connection ended before the answer")]
    Disconnected,
    /// A status outside the contract: is the server a credgate gateway?
    #[error("unexpected status {}", code_name(*.0))]
    Unexpected(Code),
}

/// The reason of a status (`google.rpc.ErrorInfo`, domain `credgate`), if it carries one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason(Option<Box<str>>);

impl Reason {
    /// `DRAINING` and the like.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.as_str() == Some(word)
    }

    fn of(status: &Status) -> Self {
        let Some(info) = status.get_details_error_info() else { return Self(None) };
        // The grammar of google.rpc.ErrorInfo.reason; anything else could forge a line of a log.
        let proper = (1..=63).contains(&info.reason.len())
            && info.reason.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        Self((info.domain == DOMAIN && proper).then(|| info.reason.into()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str().unwrap_or("no reason given"))
    }
}

impl LookupError {
    pub(crate) fn empty() -> Self {
        Self::Internal { reason: Reason(Some("EMPTY_ANSWER".into())) }
    }

    fn of_status(status: &Status) -> Self {
        let reason = Reason::of(status);
        match status.code() {
            Code::NotFound if reason.is("NODE_NOT_FOUND") => Self::NotFound,
            Code::Unavailable => Self::Unavailable { reason },
            Code::ResourceExhausted => {
                let retry_after = status.get_details_retry_info().and_then(|info| info.retry_delay);
                Self::Exhausted { reason, retry_after }
            }
            Code::Unauthenticated => Self::Authentication,
            Code::PermissionDenied => Self::Permission,
            Code::InvalidArgument => Self::InvalidRequest { reason },
            Code::Internal => Self::Internal { reason },
            Code::Cancelled => Self::Disconnected,
            Code::DeadlineExceeded => Self::TimedOut,
            other => Self::Unexpected(other),
        }
    }
}

impl From<CallError> for LookupError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Dial(error) => Self::Dial(error),
            CallError::TimedOut => Self::TimedOut,
            CallError::Disconnected => Self::Disconnected,
            CallError::Status(status) => Self::of_status(&status),
        }
    }
}

const DOMAIN: &str = "credgate";
