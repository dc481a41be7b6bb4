//! How one call fails, whatever was asked.

use tonic::{Code, Status};

use crate::DialError;

/// Why a call has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// There is no connection, or it broke for a reason that has a name.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// No answer within the deadline.
    #[error("rpc: timed out")]
    TimedOut,
    /// The connection or the stream ended before the answer: the gateway restarts, or something between is at fault.
    #[error("rpc: the connection ended before the answer")]
    Disconnected,
    /// The server answered with another status than OK. Its text is not shown: it may come from anywhere.
    #[error("rpc: {}", code_name(.0.code()))]
    Status(Box<Status>),
}

/// The code as the gRPC documents write it: `NOT_FOUND`.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
