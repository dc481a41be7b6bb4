//! gRPC on bare HTTP/2: requests that client libraries refuse to send, answers that they hide.
//!
//! ```no_run
//! # use credgate_support::{deployment::Deployment, rawh2::{Connection, Request}};
//! # use std::time::Duration;
//! # async fn example(deployment: Deployment) {
//! let gateway = deployment.start();
//! let connection = Connection::open(&deployment.target(gateway.lookup, &deployment.registrar)).await.unwrap();
//! let request = Request::lookup("2000").token(&deployment.registrar.token).header("grpc-timeout", "1 week");
//! let answer = connection.send(request, Duration::from_secs(5)).await;
//! assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{answer:?}");
//! # }
//! ```

mod answer;
mod exchange;
mod last_word;
mod request;

use std::{io, time::Duration};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::{sync::watch, task::JoinHandle, time::timeout};

pub use answer::{Answer, End};
pub use exchange::Exchange;
pub use h2::Reason;
pub use request::{Request, framed};

use crate::wire::{Stream, Target};
use last_word::LastWord;

/// One HTTP/2 connection. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    requests: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    end: watch::Receiver<Option<End>>,
}

impl Connection {
    /// Connects. With TLS 1.3 a refused client certificate shows at the first request.
    pub async fn open(target: &Target) -> io::Result<Self> {
        Self::over(target.connect().await?).await
    }

    /// Speaks HTTP/2 over a stream that is there.
    pub async fn over(stream: Box<dyn Stream>) -> io::Result<Self> {
        let mut builder = h2::client::Builder::new();
        builder.initial_max_send_streams(1).initial_window_size(1 << 20).initial_connection_window_size(1 << 20);
        let (requests, connection) = builder.handshake(LastWord(stream)).await.map_err(io::Error::other)?;
        let (ended, end) = watch::channel(None);
        let driver = tokio::spawn(async move {
            let end = connection.await.map_or_else(|error| End::of(&error), |()| End::Finished);
            ended.send_replace(Some(end));
        });
        Ok(Self { requests, driver, end })
    }

    /// Sends one request and reads its answer to the end, or what there is of it after `bound`.
    pub async fn send(&self, request: Request, bound: Duration) -> Answer {
        self.begin(request).await.finish(bound).await
    }

    /// Sends one request. Waits for a free stream first, as the server's settings allow.
    pub async fn begin(&self, request: Request) -> Exchange {
        match self.requests.clone().ready().await {
            Ok(requests) => Exchange::begin(requests, request, self.end.clone()).await,
            Err(error) => Exchange::failed(End::of(&error), self.end.clone()).await,
        }
    }

    /// Waits until the server has closed the connection; says how.
    pub async fn closed(&self, bound: Duration) -> End {
        let ended = timeout(bound, end_of(self.end.clone())).await;
        ended.unwrap_or_else(|_| panic!("the connection is still open after {bound:?}"))
    }
}

async fn end_of(mut end: watch::Receiver<Option<End>>) -> End {
    let Ok(ended) = end.wait_for(Option::is_some).await else { return End::Broken("dropped by the test".into()) };
    ended.clone().unwrap()
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

#[cfg(test)]
mod tests;
