//! A request as it will stand on the wire.

use std::time::Duration;

use bytes::Bytes;
use credgate_proto::{LOOKUP_PATH, LookupCredentialRequest};
use h2::Reason;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use prost::Message;
use tonic_health::pb::HealthCheckRequest;

use crate::pki::Token;

/// A gRPC request: a correct one at first, then whatever a test makes of it.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) pieces: Vec<Bytes>,
    pub(super) pause: Duration,
    pub(super) ending: Ending,
}

/// How the request's stream ends on our side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// END_STREAM with the last piece.
    Stream,
    /// Not at all.
    Open,
    /// RST_STREAM behind the last piece.
    Reset(Reason),
}

impl Request {
    /// Asks for one node's password, without a token yet.
    pub fn lookup(node: &str) -> Self {
        Self::to(LOOKUP_PATH).message(&LookupCredentialRequest { node_id: node.into() }.encode_to_vec())
    }

    /// Asks once for a health status.
    pub fn health_check(service: &str) -> Self {
        Self::to("/grpc.health.v1.Health/Check").message(&health(service))
    }

    /// Asks for a health status and its changes.
    pub fn health_watch(service: &str) -> Self {
        Self::to("/grpc.health.v1.Health/Watch").message(&health(service))
    }

    /// POST to any path, without a message yet.
    pub fn to(path: &str) -> Self {
        let request = Self {
            method: Method::POST,
            path: path.into(),
            headers: HeaderMap::new(),
            pieces: Vec::new(),
            pause: Duration::ZERO,
            ending: Ending::Stream,
        };
        request.header("content-type", "application/grpc").header("te", "trailers")
    }

    /// The token of the call, instead of any other.
    pub fn token(self, token: &Token) -> Self {
        self.header("authorization", token.bearer())
    }

    /// Sets a header, whatever stood there.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.insert(name_of(name), value_of(value.as_ref()));
        self
    }

    /// Adds a header beside those of the same name.
    pub fn also(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.append(name_of(name), value_of(value.as_ref()));
        self
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name_of(name));
        self
    }

    /// Another method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = method.parse().unwrap();
        self
    }

    /// The body is one message, correctly framed.
    pub fn message(self, message: &[u8]) -> Self {
        self.body(framed(0, message.len(), message))
    }

    /// The body is these bytes; [`framed`] makes wrong frames of gRPC.
    pub fn body(self, bytes: impl Into<Bytes>) -> Self {
        self.pieces([bytes.into()])
    }

    /// The body is these DATA frames.
    pub fn pieces(mut self, pieces: impl IntoIterator<Item = Bytes>) -> Self {
        self.pieces = pieces.into_iter().collect();
        self
    }

    /// The body as it is, in DATA frames of `size` bytes.
    pub fn split(mut self, size: usize) -> Self {
        let whole = Bytes::from(self.pieces.concat());
        self.pieces = whole.chunks(size).map(Bytes::copy_from_slice).collect();
        self
    }

    /// More bytes behind the body.
    pub fn trailing(mut self, bytes: &[u8]) -> Self {
        self.pieces.push(Bytes::copy_from_slice(bytes));
        self
    }

    /// No body: the headers end the stream.
    pub fn no_body(self) -> Self {
        self.pieces([])
    }

    /// Lets time pass before each DATA frame.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Never ends the stream.
    pub fn no_end(mut self) -> Self {
        self.ending = Ending::Open;
        self
    }

    /// Resets the stream behind the body.
    pub fn then_reset(mut self, reason: Reason) -> Self {
        self.ending = Ending::Reset(reason);
        self
    }
}

/// gRPC's length-prefixed message with any flag and any declared length: 1 as flag says "compressed".
pub fn framed(flag: u8, declared: usize, message: &[u8]) -> Bytes {
    let length = u32::try_from(declared).unwrap().to_be_bytes();
    [&[flag], &length[..], message].concat().into()
}

fn health(service: &str) -> Vec<u8> {
    HealthCheckRequest { service: service.into() }.encode_to_vec()
}

fn name_of(name: &str) -> HeaderName {
    name.parse().unwrap()
}

fn value_of(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).unwrap()
}
