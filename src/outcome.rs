//! The outcome table: every way an RPC can end, and what the caller, the log and the metrics see of it.
//!
//! The only place that builds a [`Status`]. Texts are constant: no node ID, no peer, no backend text ever leaves here.

use std::{collections::HashMap, time::Duration};

use credgate_provider::{InvalidNodeId, ProviderError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use tracing::Level;

use crate::{
    admission::{Exhausted, Limited},
    backend::Outage,
    principal::{Forbidden, Refusal},
    rpc::BadRequest,
    shutdown::Draining,
};

/// Domain of every `google.rpc.ErrorInfo` we send.
pub const DOMAIN: &str = "credgate";

/// How an RPC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The password was handed out, or a health question answered.
    Ok,
    /// Unknown or disabled node.
    NodeNotFound,
    /// Token or certificate will not do.
    Unauthenticated,
    /// A probe asked for a credential.
    PermissionDenied,
    /// The node ID does not fit the grammar.
    InvalidNodeId,
    /// The message or its timeout cannot be understood.
    InvalidRequest,
    /// The store could not be asked.
    BackendUnavailable,
    /// The store did not answer in time.
    BackendTimeout,
    /// The gateway is shutting down.
    Draining,
    /// A rate limit refused it.
    RateLimited {
        /// When a retry may succeed.
        retry_after: Duration,
    },
    /// No slot came free, or the queue was full.
    AtCapacity,
    /// The stored record cannot be used.
    CorruptRecord,
    /// The provider failed in a way it should not.
    ProviderDefect,
    /// No such method.
    Unimplemented,
    /// The caller left before there was an answer: nothing is sent, only counted.
    Cancelled,
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    /// Status code.
    pub code: Code,
    /// Reason of the `ErrorInfo`, and metric label.
    pub reason: Option<&'static str>,
    /// Status message.
    pub text: &'static str,
    /// Level of its log line.
    pub level: Level,
}

impl Outcome {
    /// How many rows the table has.
    pub const COUNT: usize = 15;

    /// One of each, in table order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Ok,
        Self::NodeNotFound,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::InvalidNodeId,
        Self::InvalidRequest,
        Self::BackendUnavailable,
        Self::BackendTimeout,
        Self::Draining,
        Self::RateLimited { retry_after: Duration::ZERO },
        Self::AtCapacity,
        Self::CorruptRecord,
        Self::ProviderDefect,
        Self::Unimplemented,
        Self::Cancelled,
    ];

    /// Its row.
    pub fn row(self) -> &'static Row {
        &TABLE[self.index()]
    }

    /// Its place in the table.
    pub fn index(self) -> usize {
        match self {
            Self::Ok => 0,
            Self::NodeNotFound => 1,
            Self::Unauthenticated => 2,
            Self::PermissionDenied => 3,
            Self::InvalidNodeId => 4,
            Self::InvalidRequest => 5,
            Self::BackendUnavailable => 6,
            Self::BackendTimeout => 7,
            Self::Draining => 8,
            Self::RateLimited { .. } => 9,
            Self::AtCapacity => 10,
            Self::CorruptRecord => 11,
            Self::ProviderDefect => 12,
            Self::Unimplemented => 13,
            Self::Cancelled => 14,
        }
    }

    /// What the caller sees.
    pub fn status(self) -> Status {
        let Row { code, reason, text, .. } = self.row();
        let Some(reason) = reason else { return Status::new(*code, *text) };
        let mut details = ErrorDetails::new();
        details.set_error_info(*reason, DOMAIN, HashMap::new());
        if let Some(wait) = self.retry_after() {
            details.set_retry_info(Some(wait));
        }
        Status::with_error_details(*code, *text, details)
    }

    fn retry_after(self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => Some(retry_after),
            Self::AtCapacity => Some(RETRY_AT_CAPACITY),
            _ => None,
        }
    }
}

/// Capacity frees as fast as the backend answers, which nobody knows in advance: long enough that a refused caller does
/// not come back at once, short enough that a node's registration does not time out (IAX2 retries after seconds).
const RETRY_AT_CAPACITY: Duration = Duration::from_millis(250);

static TABLE: [Row; Outcome::COUNT] = [
    row(Code::Ok, None, "", Level::DEBUG),
    row(Code::NotFound, Some("NODE_NOT_FOUND"), "node is unknown or disabled", Level::DEBUG),
    row(Code::Unauthenticated, None, "service authentication failed", Level::WARN),
    row(Code::PermissionDenied, None, "this identity may not look credentials up", Level::WARN),
    row(Code::InvalidArgument, Some("INVALID_NODE_ID"), "node_id does not fit the configured grammar", Level::INFO),
    row(Code::InvalidArgument, Some("INVALID_REQUEST"), "the request cannot be understood", Level::INFO),
    row(Code::Unavailable, Some("BACKEND_UNAVAILABLE"), "credential store is unavailable", Level::WARN),
    row(Code::Unavailable, Some("BACKEND_TIMEOUT"), "credential store did not answer in time", Level::WARN),
    row(Code::Unavailable, Some("DRAINING"), "gateway is shutting down", Level::DEBUG),
    row(Code::ResourceExhausted, Some("RATE_LIMITED"), "rate limit reached", Level::WARN),
    row(Code::ResourceExhausted, Some("AT_CAPACITY"), "lookup capacity is exhausted", Level::WARN),
    row(Code::Internal, Some("CORRUPT_RECORD"), "the stored credential is not usable", Level::ERROR),
    row(Code::Internal, Some("PROVIDER_DEFECT"), "the credential provider failed", Level::ERROR),
    row(Code::Unimplemented, None, "no such method here", Level::INFO),
    row(Code::Cancelled, None, "the caller left", Level::DEBUG),
];

const fn row(code: Code, reason: Option<&'static str>, text: &'static str, level: Level) -> Row {
    Row { code, reason, text, level }
}

impl From<Refusal> for Outcome {
    fn from(_: Refusal) -> Self {
        Self::Unauthenticated
    }
}

impl From<Forbidden> for Outcome {
    fn from(_: Forbidden) -> Self {
        Self::PermissionDenied
    }
}

impl From<Draining> for Outcome {
    fn from(_: Draining) -> Self {
        Self::Draining
    }
}

impl From<Limited> for Outcome {
    fn from(limited: Limited) -> Self {
        Self::RateLimited { retry_after: limited.retry_after }
    }
}

impl From<BadRequest> for Outcome {
    fn from(bad: BadRequest) -> Self {
        match bad {
            BadRequest::TooLate => Self::BackendTimeout,
            BadRequest::Cut => Self::Cancelled,
            _ => Self::InvalidRequest,
        }
    }
}

impl From<InvalidNodeId> for Outcome {
    fn from(_: InvalidNodeId) -> Self {
        Self::InvalidNodeId
    }
}

impl From<Outage> for Outcome {
    fn from(_: Outage) -> Self {
        Self::BackendUnavailable
    }
}

impl From<Exhausted> for Outcome {
    fn from(_: Exhausted) -> Self {
        Self::AtCapacity
    }
}

impl From<&ProviderError> for Outcome {
    fn from(error: &ProviderError) -> Self {
        match error {
            ProviderError::Unavailable(_) => Self::BackendUnavailable,
            ProviderError::TimedOut(_) => Self::BackendTimeout,
            ProviderError::Corrupt(_) => Self::CorruptRecord,
            ProviderError::Defect(_) => Self::ProviderDefect,
        }
    }
}

/// A health Check of a name we do not have (gRPC health checking protocol).
pub fn unknown_health_name() -> Status {
    Status::not_found("unknown service name")
}

/// One health Watch more than may be open.
pub fn too_many_watches() -> Status {
    Status::resource_exhausted("too many watches")
}
