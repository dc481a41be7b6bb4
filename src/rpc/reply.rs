//! What goes back: one message and trailers, trailers alone, or a stream of the health service.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use credgate_proto::LookupCredentialResponse;
use credgate_provider::Password;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use prost::Message as _;
use tonic::Status;

use crate::{outcome::Outcome, telemetry::Delivery};

/// A whole answer.
pub type Reply = Response<ReplyBody>;

/// The body of an answer.
#[derive(Debug, Default)]
pub enum ReplyBody {
    /// Nothing: the status stands in the headers.
    #[default]
    Empty,
    /// One message, then `grpc-status: 0`.
    Found {
        /// Taken when sent.
        message: Option<Bytes>,
        /// Until they are sent, and made only then: hyper moves what it is given several times.
        trailers_due: bool,
        /// Told when the message is taken.
        delivery: Option<Box<Delivery>>,
    },
    /// An answer of the health service.
    Health(tonic::body::Body),
}

impl From<tonic::body::Body> for ReplyBody {
    fn from(body: tonic::body::Body) -> Self {
        Self::Health(body)
    }
}

/// The answer to a lookup that found a password.
pub fn found(password: &Password, delivery: Option<Box<Delivery>>) -> Reply {
    let response = LookupCredentialResponse { password: password.expose().to_owned() };
    let length = response.encoded_len();
    let mut message = BytesMut::with_capacity(5 + length);
    message.put_u8(0);
    message.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    response.encode_raw(&mut message);
    drop(zeroize::Zeroizing::new(response.password));
    let message = Some(message.freeze());
    let mut reply = Response::new(ReplyBody::Found { message, trailers_due: true, delivery });
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    reply
}

/// They end the answer that [`found`] begins.
fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))])
}

/// The answer to everything else.
pub fn refuse(outcome: Outcome) -> Reply {
    outcome.status().into_http()
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Found { message, trailers_due, delivery } => {
                let frame = match message.take() {
                    Some(message) => {
                        if let Some(delivery) = delivery.take() {
                            delivery.happened();
                        }
                        Some(Frame::data(message))
                    }
                    None => mem::take(trailers_due).then(|| Frame::trailers(trailers())),
                };
                Poll::Ready(frame.map(Ok))
            }
            Self::Health(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Found { message, trailers_due, .. } => message.is_none() && !trailers_due,
            Self::Health(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Found { .. } => SizeHint::default(),
            Self::Health(body) => body.size_hint(),
        }
    }
}
