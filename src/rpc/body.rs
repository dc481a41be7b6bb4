//! The body of a request, and what becomes of it when the answer comes first.
//!
//! A refusal need not wait for the message, and some clients send headers and message apart. When the body is let go
//! with a part of it still on its way, h2 resets the stream, and what then arrives for it counts as abuse of the connection:
//! an honest client that is refused often would lose it (seen after some 2,000 refusals). So the rest is taken in and
//! thrown away, for a while.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::{runtime::Handle, time::timeout};

use super::message::LARGEST;

/// What the caller sends.
#[derive(Debug)]
pub struct RequestBody {
    /// Until its end has been seen.
    open: Option<Incoming>,
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self { open: Some(body) }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.open else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) || body.is_end_stream() {
            self.open = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.open.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.open.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(rest) = self.open.take().filter(|body| !body.is_end_stream()) else { return };
        // Outside a runtime there is no connection either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(PATIENCE, throw_away(rest)));
        }
    }
}

async fn throw_away(mut body: Incoming) {
    let mut left = MOST;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}

/// How long the rest may take: a few round trips around the world.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much of it is taken in. Whoever sends more is reset.
const MOST: usize = 4 * LARGEST;
