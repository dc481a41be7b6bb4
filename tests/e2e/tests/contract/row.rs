//! The outcome table as a caller sees it, written down a second time: a changed code, reason or text is a changed
//! contract.

use credgate_client::code_name;
use credgate_support::process::Gateway;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::ground::number;

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    code: Code,
    reason: &'static str,
    text: &'static str,
    retry_info: bool,
}

pub const NODE_NOT_FOUND: Row = row(Code::NotFound, "NODE_NOT_FOUND", "node is unknown or disabled");
pub const UNAUTHENTICATED: Row = row(Code::Unauthenticated, "", "service authentication failed");
pub const PERMISSION_DENIED: Row = row(Code::PermissionDenied, "", "this identity may not look credentials up");
pub const INVALID_NODE_ID: Row =
    row(Code::InvalidArgument, "INVALID_NODE_ID", "node_id does not fit the configured grammar");
pub const INVALID_REQUEST: Row = row(Code::InvalidArgument, "INVALID_REQUEST", "the request cannot be understood");
pub const BACKEND_UNAVAILABLE: Row = row(Code::Unavailable, "BACKEND_UNAVAILABLE", "credential store is unavailable");
pub const BACKEND_TIMEOUT: Row = row(Code::Unavailable, "BACKEND_TIMEOUT", "credential store did not answer in time");
pub const DRAINING: Row = row(Code::Unavailable, "DRAINING", "gateway is shutting down");
pub const RATE_LIMITED: Row = row(Code::ResourceExhausted, "RATE_LIMITED", "rate limit reached").with_retry_info();
pub const AT_CAPACITY: Row =
    row(Code::ResourceExhausted, "AT_CAPACITY", "lookup capacity is exhausted").with_retry_info();
pub const CORRUPT_RECORD: Row = row(Code::Internal, "CORRUPT_RECORD", "the stored credential is not usable");
pub const PROVIDER_DEFECT: Row = row(Code::Internal, "PROVIDER_DEFECT", "the credential provider failed");
pub const UNIMPLEMENTED: Row = row(Code::Unimplemented, "", "no such method here");

const fn row(code: Code, reason: &'static str, text: &'static str) -> Row {
    Row { code, reason, text, retry_info: false }
}

impl Row {
    const fn with_retry_info(mut self) -> Self {
        self.retry_info = true;
        self
    }

    /// Fails the test unless a status is this row, and nothing besides.
    #[track_caller]
    pub fn fits(&self, status: &Status) {
        assert_eq!((status.code(), status.message()), (self.code, self.text), "{status:?}");
        let details = status.get_error_details();
        let info = details.error_info();
        let found = info.map(|info| (info.reason.as_str(), info.domain.as_str()));
        assert_eq!(found, (!self.reason.is_empty()).then_some((self.reason, "credgate")), "{status:?}");
        assert!(info.is_none_or(|info| info.metadata.is_empty()), "{status:?}");
        let delay = details.retry_info().and_then(|info| info.retry_delay);
        assert_eq!(delay.is_some_and(|delay| !delay.is_zero()), self.retry_info, "{status:?}");
        let others = status.get_error_details_vec().len() - usize::from(info.is_some()) - usize::from(delay.is_some());
        assert_eq!(others, 0, "{status:?}");
    }

    /// How often a method has ended so.
    pub async fn counted(&self, gateway: &Gateway, method: &str) -> f64 {
        let labels = [("method", method), ("code", code_name(self.code)), ("reason", self.reason)];
        number(gateway, "credgate_rpcs_total", &labels).await
    }
}
