//! One dialled connection: a tower service for generated clients, and the two calls everybody needs.

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use credgate_proto::{LookupCredentialRequest, credential_service_client::CredentialServiceClient};
use http::{Uri, header::AUTHORIZATION, uri::Scheme};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tonic::{Request, Status, body::Body};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tower::Service;

use crate::{CallError, Cause, DialError, Endpoint, LookupError, Password, ServingStatus, wire::Seen};

/// One HTTP/2 connection to a gateway. Clones share it; it ends when the last clone is dropped.
///
/// It is a [`tower::Service`], so any client generated with `build_transport(false)` takes it. Each request gets the
/// endpoint's `authorization` unless it brings its own.
#[derive(Clone)]
pub struct Connection {
    endpoint: Endpoint,
    requests: http2::SendRequest<Body>,
    local: Option<SocketAddr>,
    seen: watch::Receiver<Seen>,
}

/// How much longer than the server we wait, so that its own status arrives before we give up.
const ALLOWANCE: Duration = Duration::from_millis(100);

/// 16 MiB for the connection. h2 closes one that holds too many small unread DATA frames: as many as fill half of this
/// window when each counts 256 bytes, so 32 768 answers may wait (the default window was hit at 39 000 calls/s).
const CONNECTION_WINDOW: u32 = 16 << 20;

/// An answer is far below 1 KiB: a password has at most 255 bytes.
const LONGEST_ANSWER: usize = 16 << 10;
const STREAM_WINDOW: u32 = 64 << 10;

/// A dead peer is noticed within [`KEEPALIVE`] + [`KEEPALIVE_TIMEOUT`], calls under way or not.
const KEEPALIVE: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn builder(executor: TokioExecutor, timer: TokioTimer) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(executor);
    builder
        .timer(timer)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true);
    builder
}

impl Connection {
    pub(crate) fn new(
        endpoint: &Endpoint,
        requests: http2::SendRequest<Body>,
        local: Option<SocketAddr>,
        seen: watch::Receiver<Seen>,
    ) -> Self {
        Self { endpoint: endpoint.clone(), requests, local, seen }
    }

    /// This side's address and port, by which a socket table shows who holds the other side. `None` when the system
    /// did not tell.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Whether it can take no more calls: it broke, or the server said GOAWAY.
    pub fn is_closed(&self) -> bool {
        self.requests.is_closed() || matches!(*self.seen.borrow(), Seen::Ended(_))
    }

    /// Asks for one node's password, once. The gateway is told `deadline`; its answer is awaited 100 ms longer.
    pub async fn lookup(&self, node_id: &str, deadline: Instant) -> Result<Password, LookupError> {
        let mut client = CredentialServiceClient::new(self.clone()).max_decoding_message_size(LONGEST_ANSWER);
        let request = Request::new(LookupCredentialRequest { node_id: node_id.to_owned() });
        let answer = self.bounded(deadline, request, |request| async move { client.lookup_credential(request).await });
        let password = answer.await.map_err(LookupError::from)?.password;
        Password::new(password).ok_or_else(LookupError::empty)
    }

    /// Asks the health service about one name: `startup`, `liveness`, `readiness`.
    pub async fn check(&self, service: &str, deadline: Instant) -> Result<ServingStatus, CallError> {
        let mut client = HealthClient::new(self.clone()).max_decoding_message_size(LONGEST_ANSWER);
        let request = Request::new(HealthCheckRequest { service: service.to_owned() });
        let answer = self.bounded(deadline, request, |request| async move { client.check(request).await });
        Ok(answer.await?.status())
    }

    async fn bounded<Q, A, F>(
        &self,
        deadline: Instant,
        mut request: Request<Q>,
        call: impl FnOnce(Request<Q>) -> F,
    ) -> Result<A, CallError>
    where
        F: Future<Output = Result<tonic::Response<A>, Status>>,
    {
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        match timeout_at(deadline + ALLOWANCE, call(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.judge(status)),
            Err(_) => Err(CallError::TimedOut),
        }
    }

    /// A status with a source was made on this side, from a broken stream.
    pub(crate) fn judge(&self, status: Status) -> CallError {
        if std::error::Error::source(&status).is_none() {
            return CallError::Status(Box::new(status));
        }
        match &*self.seen.borrow() {
            Seen::Ended(error @ DialError { cause: Cause::Refused(_), .. }) => CallError::Dial(error.clone()),
            _ => CallError::Disconnected,
        }
    }
}

impl Service<http::Request<Body>> for Connection {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    /// Always ready: generated clients turn an error here into a text, while one of `call` keeps its source.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let mut uri = std::mem::take(request.uri_mut()).into_parts();
        uri.scheme = Some(if self.endpoint.tls().is_some() { Scheme::HTTPS } else { Scheme::HTTP });
        uri.authority = Some(self.endpoint.authority().clone());
        // The path stands, so the parts are complete; were they not, the request would fail at the server.
        *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
        request.headers_mut().entry(AUTHORIZATION).or_insert_with(|| self.endpoint.authorization().clone());
        Box::pin(self.requests.send_request(request))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("endpoint", &self.endpoint).field("closed", &self.is_closed()).finish()
    }
}
