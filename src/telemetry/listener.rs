//! The private listener: `/metrics` for Prometheus, `/healthz/live` and `/healthz/ready` for whoever has no gRPC.
//!
//! Plain HTTP without authentication: it belongs on a loopback or private address.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::Metrics;
use crate::health::Board;

/// What it shows.
#[derive(Clone, Debug)]
pub struct Pages {
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// For `/healthz/…`.
    pub board: Arc<Board>,
}

/// Connections at once: a Prometheus or two, and a person.
const MOST: usize = 32;

/// The longest a connection may live: scrapes are short.
const LONGEST: Duration = Duration::from_secs(30);

/// Serves for ever.
pub async fn serve(listener: std::net::TcpListener, pages: Pages) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "metrics listener failed"),
    };
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let pages = pages.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| std::future::ready(Ok::<_, Infallible>(pages.answer(&request))));
            let connection =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(socket), answer);
            // However it ends, nothing of the gateway depends on it.
            let _ = timeout(LONGEST, connection).await;
            drop(place);
        });
    }
}

impl Pages {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return page(StatusCode::METHOD_NOT_ALLOWED, "GET only\n".into());
        }
        let verdicts = self.board.verdicts();
        match request.uri().path() {
            "/metrics" => page(StatusCode::OK, self.metrics.render()),
            "/healthz/live" => verdict(verdicts.liveness),
            "/healthz/ready" => verdict(verdicts.readiness),
            _ => page(StatusCode::NOT_FOUND, "/metrics, /healthz/live, /healthz/ready\n".into()),
        }
    }
}

fn verdict(serving: bool) -> Response<Full<Bytes>> {
    match serving {
        true => page(StatusCode::OK, "SERVING\n".into()),
        false => page(StatusCode::SERVICE_UNAVAILABLE, "NOT_SERVING\n".into()),
    }
}

fn page(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let content_type = http::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
