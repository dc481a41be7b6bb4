//! What came back, down to the reason of a reset.

use std::{fmt, time::Duration};

use bytes::Bytes;
use credgate_proto::LookupCredentialResponse;
use h2::Reason;
use http::{HeaderMap, StatusCode};
use prost::Message;
use tonic::{Code, Status};
use tonic_health::pb::{HealthCheckResponse, health_check_response::ServingStatus};
use tonic_types::StatusExt;

/// An answer, as far as it came.
#[derive(Clone)]
pub struct Answer {
    /// HTTP status.
    pub http: Option<StatusCode>,
    /// The headers; in a "trailers-only" answer these hold the gRPC status.
    pub headers: HeaderMap,
    /// The body.
    pub data: Vec<u8>,
    /// The trailers.
    pub trailers: Option<HeaderMap>,
    /// How the stream ended.
    pub end: End,
    /// How long it took.
    pub after: Duration,
}

/// How a stream or connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// In order.
    Finished,
    /// RST_STREAM.
    Reset(Reason),
    /// GOAWAY with this reason; `NO_ERROR` when the server wants no more requests.
    GoAway(Reason),
    /// The connection broke, or a TLS alert ended it.
    Broken(String),
    /// It has not ended.
    Open,
}

impl End {
    pub(super) fn of(error: &h2::Error) -> Self {
        match error.reason() {
            Some(reason) if error.is_go_away() => Self::GoAway(reason),
            Some(reason) if error.is_reset() => Self::Reset(reason),
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl Answer {
    pub(super) fn new(end: End) -> Self {
        let (headers, after) = (HeaderMap::new(), Duration::ZERO);
        Self { http: None, headers, data: Vec::new(), trailers: None, end, after }
    }

    /// The gRPC status, if there is one.
    pub fn status(&self) -> Option<Status> {
        self.trailers.as_ref().and_then(Status::from_header_map).or_else(|| Status::from_header_map(&self.headers))
    }

    /// The gRPC status code; fails the test when there is none.
    #[track_caller]
    pub fn code(&self) -> Code {
        self.status().unwrap_or_else(|| panic!("no gRPC status: {self:?}")).code()
    }

    /// `reason` and `domain` of google.rpc.ErrorInfo.
    pub fn error_info(&self) -> Option<(String, String)> {
        let details = self.status()?.get_error_details();
        let info = details.error_info()?;
        Some((info.reason.clone(), info.domain.clone()))
    }

    /// `retry_delay` of google.rpc.RetryInfo.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.get_error_details().retry_info()?.retry_delay
    }

    /// Code and reason in one line: `OK`, `UNAUTHENTICATED`, `UNAVAILABLE BACKEND_TIMEOUT`, `no status: Reset(CANCEL)`.
    pub fn ending(&self) -> String {
        let Some(status) = self.status() else { return format!("no status: {:?}", self.end) };
        crate::grpc::ending(&status)
    }

    /// The complete gRPC messages of the body.
    pub fn messages(&self) -> Vec<Bytes> {
        let mut rest = &self.data[..];
        let mut messages = Vec::new();
        while let Some((head, tail)) = rest.split_at_checked(5) {
            let length = u32::from_be_bytes(head[1..5].try_into().unwrap());
            let Some((message, tail)) = tail.split_at_checked(usize::try_from(length).unwrap()) else { break };
            messages.push(Bytes::copy_from_slice(message));
            rest = tail;
        }
        messages
    }

    /// The password of a lookup's answer.
    pub fn password(&self) -> Option<String> {
        Some(LookupCredentialResponse::decode(self.messages().pop()?).unwrap().password)
    }

    /// The statuses of a health answer or stream.
    pub fn serving(&self) -> Vec<ServingStatus> {
        let decode = |message| HealthCheckResponse::decode(message).unwrap().status();
        self.messages().into_iter().map(decode).collect()
    }
}

/// Everything that was seen, without the body: it may hold a password.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("http", &self.http)
            .field("headers", &self.headers)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .field("trailers", &self.trailers)
            .field("end", &self.end)
            .field("after", &self.after)
            .finish()
    }
}
