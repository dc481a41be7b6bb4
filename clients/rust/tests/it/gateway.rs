//! A gateway's outside, small enough for a test: TLS, HTTP/2, the bearer check, and a service of the test's choice.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Status, body::Body};
use tower::Service;

use crate::pki::TOKEN;

pub struct Gateway {
    pub address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    goaway: CancellationToken,
    tasks: TaskTracker,
}

impl Gateway {
    /// Listens on `address` (port 0 for any); no `tls` means plaintext.
    pub async fn start<S>(address: &str, tls: Option<ServerConfig>, service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        Self::on(TcpListener::bind(address).await.unwrap(), tls, service)
    }

    /// The same on a listener of the caller's.
    pub fn on<S>(listener: TcpListener, tls: Option<ServerConfig>, service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let address = listener.local_addr().unwrap();
        let (goaway, tasks, accepted) = (CancellationToken::new(), TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
        let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let (token, tracker, counter) = (goaway.clone(), tasks.clone(), Arc::clone(&accepted));
        tasks.spawn(token.clone().run_until_cancelled_owned(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                counter.fetch_add(1, Ordering::Relaxed);
                tracker.spawn(accept(tcp, tls.clone(), service.clone(), token.clone()));
            }
        }));
        tasks.close();
        Self { address, accepted, goaway, tasks }
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Says GOAWAY and refuses new connections; calls under way go on.
    pub fn drain(&self) {
        self.goaway.cancel();
    }

    /// Drains to the end, the listener included.
    pub async fn stop(self) {
        self.drain();
        self.tasks.wait().await;
    }
}

async fn accept<S>(tcp: TcpStream, tls: Option<TlsAcceptor>, service: S, goaway: CancellationToken)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    tcp.set_nodelay(true).unwrap();
    let _ = match tls {
        None => serve(tcp, service, goaway).await,
        Some(tls) => match tls.accept(tcp).await {
            Ok(stream) => serve(stream, service, goaway).await,
            Err(_) => return,
        },
    };
}

async fn serve<S>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    goaway: CancellationToken,
) -> Result<(), io::Error>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let service = TowerToHyperService::new(Authenticated(service));
    let connection = http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(20_000)
        // h2 allows as many small unread DATA frames as fit half of this window at 256 bytes each.
        .initial_connection_window_size(16 << 20)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = goaway.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    ended.map_err(io::Error::other)
}

#[derive(Clone)]
struct Authenticated<S>(S);

impl<S> Service<Request<Incoming>> for Authenticated<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let given = request.headers().get(http::header::AUTHORIZATION);
        if given.is_some_and(|given| given == &format!("Bearer {TOKEN}")) {
            return Box::pin(self.0.call(request));
        }
        Box::pin(async { Ok(Status::unauthenticated("unauthenticated").into_http()) })
    }
}
