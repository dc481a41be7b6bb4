//! One HTTP/2 connection that asks and judges the answer.
//!
//! The h2 crate without a gRPC library: 7 to 9 µs of CPU a call, where tonic's client takes 11 to 15 (8 connections, 128 calls
//! under way, measured). Windows are wide, since h2 closes a connection that holds many small unread DATA frames.

use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use h2::{
    RecvStream,
    client::{Builder, SendRequest},
};
use http::{HeaderMap, Request, Response};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tonic::Status;

use crate::{Caller, Question};

/// An open connection. Dropping it closes it.
#[derive(Debug)]
pub struct Link {
    requests: SendRequest<Bytes>,
    head: Request<()>,
    patience: Duration,
    driver: JoinHandle<()>,
    end: watch::Receiver<Option<String>>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the right answer.
    Right,
    /// OK, and it was not the right answer; or NOT_FOUND for a node that is there.
    Wrong,
    /// Another status: `RESOURCE_EXHAUSTED AT_CAPACITY`.
    Status(String),
    /// Without a status, for this reason.
    Cut(String),
}

impl Ending {
    /// As it is counted.
    pub fn label(&self) -> &str {
        match self {
            Self::Right => "right",
            Self::Wrong => "WRONG",
            Self::Status(text) | Self::Cut(text) => text,
        }
    }
}

impl Link {
    /// Connects.
    pub async fn open(caller: &Caller) -> Result<Self, String> {
        Self::with_windows(caller, WINDOW, WINDOW).await
    }

    /// Connects with windows of so many bytes for each call and for the whole connection.
    pub async fn with_windows(caller: &Caller, call: u32, connection: u32) -> Result<Self, String> {
        let stream = caller.target.connect().await.map_err(|error| format!("connect: {}", error.kind()))?;
        let mut builder = Builder::new();
        builder.initial_max_send_streams(1).enable_push(false);
        builder.initial_window_size(call).initial_connection_window_size(connection);
        let (requests, connection) =
            builder.handshake(stream).await.map_err(|error| format!("HTTP/2: {}", reason(&error)))?;
        let (ended, end) = watch::channel(None);
        let driver = tokio::spawn(async move {
            let end = connection.await.map_or_else(|error| reason(&error), |()| "closed".to_owned());
            ended.send_replace(Some(end));
        });
        Ok(Self { requests, head: caller.head(), patience: caller.timeout + PATIENCE, driver, end })
    }

    /// How the connection ended, if it did.
    pub fn ended(&self) -> Option<String> {
        self.end.borrow().clone()
    }

    /// Waits for the connection's end.
    pub async fn closed(&self) -> String {
        let mut end = self.end.clone();
        let ended = end.wait_for(Option::is_some).await.map(|end| end.clone());
        ended.ok().flatten().unwrap_or_else(|| "dropped".to_owned())
    }

    /// Asks, and judges the answer. Waits for a free stream first, as the gateway's settings allow.
    pub async fn ask(&self, question: &Question) -> Ending {
        match timeout_at(Instant::now() + self.patience, self.exchange(question)).await {
            Ok(Ok(ending)) => ending,
            Ok(Err(error)) => Ending::Cut(self.ended().unwrap_or_else(|| reason(&error))),
            Err(_) => Ending::Cut("no answer".to_owned()),
        }
    }

    /// Asks so many times at once, and reads no answer before all have come. `Ok` is how many were right.
    pub async fn unread(&self, question: &Question, calls: usize) -> Result<usize, String> {
        let mut heads = Vec::new();
        for _ in 0..calls {
            let mut requests = self.requests.clone().ready().await.map_err(|error| reason(&error))?;
            let (response, mut body) =
                requests.send_request(self.head.clone(), false).map_err(|error| reason(&error))?;
            body.send_data(question.body.clone(), true).map_err(|error| reason(&error))?;
            heads.push(response);
        }
        let answers = timeout_at(Instant::now() + self.patience, try_join_all(heads)).await;
        let answers = answers.map_err(|_| "no answer".to_owned())?.map_err(|error| reason(&error))?;
        let mut right = 0;
        for answer in answers {
            let ending = read(question, answer).await.map_err(|error| reason(&error))?;
            right += usize::from(ending == Ending::Right);
        }
        Ok(right)
    }

    async fn exchange(&self, question: &Question) -> Result<Ending, h2::Error> {
        let mut requests = self.requests.clone().ready().await?;
        let (response, mut body) = requests.send_request(self.head.clone(), false)?;
        body.send_data(question.body.clone(), true)?;
        read(question, response.await?).await
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn read(question: &Question, answer: Response<RecvStream>) -> Result<Ending, h2::Error> {
    let (head, mut body) = answer.into_parts();
    let mut data = Bytes::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        // An answer fits in its window many times over; what is taken from the connection's is given back.
        body.flow_control().release_capacity(chunk.len())?;
        data = if data.is_empty() { chunk } else { [data, chunk].concat().into() };
    }
    let trailers = body.trailers().await?;
    Ok(judge(question, &data, &trailers.unwrap_or(head.headers)))
}

fn judge(question: &Question, data: &Bytes, status: &HeaderMap) -> Ending {
    match status.get("grpc-status").map(|status| status.as_bytes()) {
        Some(b"0") if question.answer.as_ref() == Some(data) => Ending::Right,
        Some(b"0") => Ending::Wrong,
        Some(b"5") if question.answer.is_none() => Ending::Right,
        Some(b"5") => Ending::Wrong,
        Some(_) => match Status::from_header_map(status) {
            Some(status) => Ending::Status(credgate_support::grpc::ending(&status)),
            None => Ending::Cut("an unreadable status".to_owned()),
        },
        None => Ending::Cut("no status".to_owned()),
    }
}

/// What is the same for all failures of a kind.
fn reason(error: &h2::Error) -> String {
    match error.reason() {
        Some(reason) if error.is_go_away() => format!("GOAWAY {reason:?}"),
        Some(reason) if error.is_reset() => format!("RST_STREAM {reason:?}"),
        _ => match error.get_io() {
            Some(error) => format!("connection broken: {}", error.kind()),
            None => error.to_string(),
        },
    }
}

/// As wide as 60,000 answers that wait to be read need it.
const WINDOW: u32 = 16 << 20;

/// How much longer than the gateway is told an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
