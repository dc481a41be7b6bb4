//! One request under way.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use h2::{
    Reason, RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout, timeout_at},
};

use super::{Answer, End, Request, end_of, request::Ending};

/// A stream whose request was sent, or is still being sent.
pub struct Exchange {
    answer: Answer,
    begin: Instant,
    send: Option<SendStream<Bytes>>,
    state: State,
    connection: watch::Receiver<Option<End>>,
}

enum State {
    Head(BoxFuture<'static, Result<http::Response<RecvStream>, h2::Error>>),
    Body(RecvStream),
    Ended,
}

impl Exchange {
    pub(super) async fn begin(
        mut requests: SendRequest<Bytes>,
        request: Request,
        connection: watch::Receiver<Option<End>>,
    ) -> Self {
        let mut head = http::Request::new(());
        *head.method_mut() = request.method.clone();
        *head.uri_mut() = format!("https://localhost{}", request.path).parse().unwrap();
        *head.headers_mut() = request.headers.clone();
        let ends_at_once = request.pieces.is_empty() && request.ending == Ending::Stream;
        match requests.send_request(head, ends_at_once) {
            Ok((response, send)) => Self::sent(response, send, request, connection).await,
            Err(error) => Self::failed(End::of(&error), connection).await,
        }
    }

    pub(super) async fn failed(end: End, connection: watch::Receiver<Option<End>>) -> Self {
        let (answer, begin) = (Answer::new(end), Instant::now());
        let mut exchange = Self { answer, begin, send: None, state: State::Ended, connection };
        exchange.ask_the_connection().await;
        exchange
    }

    async fn sent(
        response: ResponseFuture,
        mut send: SendStream<Bytes>,
        request: Request,
        connection: watch::Receiver<Option<End>>,
    ) -> Self {
        let count = request.pieces.len();
        for (index, piece) in request.pieces.into_iter().enumerate() {
            if !request.pause.is_zero() {
                sleep(request.pause).await;
            }
            // A server may answer before it has read everything: then the answer says what is wrong, not this error.
            let _ = send.send_data(piece, index + 1 == count && request.ending == Ending::Stream);
        }
        if let Ending::Reset(reason) = request.ending {
            send.send_reset(reason);
        }
        let state = State::Head(Box::pin(response));
        Self { answer: Answer::new(End::Open), begin: Instant::now(), send: Some(send), state, connection }
    }

    /// Cancels the call.
    pub fn reset(&mut self, reason: Reason) {
        if let Some(send) = &mut self.send {
            send.send_reset(reason);
        }
    }

    /// Reads until `count` more messages are there, or the stream has ended. What was seen so far comes back as well
    /// when the bound passes: then the end is [`End::Open`].
    pub async fn messages(&mut self, count: usize, bound: Duration) -> &Answer {
        let wanted = self.answer.messages().len() + count;
        let end = tokio::time::Instant::now() + bound;
        while self.answer.messages().len() < wanted && !matches!(self.state, State::Ended) {
            if timeout_at(end, self.step()).await.is_err() {
                break;
            }
        }
        self.answer.after = self.begin.elapsed();
        &self.answer
    }

    /// Reads to the end.
    pub async fn finish(mut self, bound: Duration) -> Answer {
        self.messages(usize::MAX / 2, bound).await;
        self.answer
    }

    /// One piece of the answer. Nothing is lost when it is dropped half way.
    async fn step(&mut self) {
        let ended = match &mut self.state {
            State::Ended => return,
            State::Head(response) => match response.await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    self.answer.http = Some(head.status);
                    self.answer.headers = head.headers;
                    self.state = State::Body(body);
                    return;
                }
                Err(error) => End::of(&error),
            },
            State::Body(body) => match body.data().await {
                Some(Ok(bytes)) => {
                    let _ = body.flow_control().release_capacity(bytes.len());
                    self.answer.data.extend_from_slice(&bytes);
                    return;
                }
                Some(Err(error)) => End::of(&error),
                None => match body.trailers().await {
                    Ok(trailers) => {
                        self.answer.trailers = trailers;
                        End::Finished
                    }
                    Err(error) => End::of(&error),
                },
            },
        };
        self.answer.end = ended;
        self.state = State::Ended;
        self.ask_the_connection().await;
    }

    /// A stream of a broken connection often knows only that; the connection knows the GOAWAY or the TLS alert.
    async fn ask_the_connection(&mut self) {
        if !matches!(self.answer.end, End::Broken(_)) {
            return;
        }
        match timeout(LAST_WORD, end_of(self.connection.clone())).await {
            Ok(End::Finished) | Err(_) => {}
            Ok(end) => self.answer.end = end,
        }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.answer.fmt(f)
    }
}

/// How long a broken stream waits for its connection's own end, which follows at once.
const LAST_WORD: Duration = Duration::from_secs(1);
