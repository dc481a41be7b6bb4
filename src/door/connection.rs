//! The life of one connection: handshake, HTTP/2, and the reasons to end it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Failure, Hall, Limits, Peer, Stranger,
    streams::{Arrivals, Streams},
};
use crate::jitter::jittered;

/// What is known of a connection while it lives.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    stranger: Arc<Stranger>,
    authenticated: AtomicBool,
    failures: AtomicU32,
    most_failures: u32,
    hopeless: CancellationToken,
}

impl Connection {
    fn new(peer: Peer, stranger: Arc<Stranger>, most_failures: u32) -> Self {
        Self {
            peer,
            stranger,
            authenticated: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            most_failures,
            hopeless: CancellationToken::new(),
        }
    }

    /// The other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// An RPC was authenticated.
    pub fn authenticated(&self) {
        if !self.authenticated.load(Ordering::Relaxed) {
            self.authenticated.store(true, Ordering::Relaxed);
            self.stranger.is_known();
        }
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// An RPC was not. Too many in a row, and the connection ends.
    pub fn refused(&self) {
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= self.most_failures {
            self.hopeless.cancel();
        }
    }

    fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }
}

/// Said of a stranger that went for a newer one.
const MADE_ROOM: &str = "made room for a newer connection: a cap is reached, and this one had not authenticated";

/// How long a connection that is told to go may take to finish its last answers.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Takes a connection from its first byte to its last.
pub(super) async fn serve(hall: &Hall, socket: TcpStream, address: SocketAddr, stranger: Arc<Stranger>) {
    // Answers are small and each is wanted at once: without it a call takes 40 ms (delayed ACK, measured).
    if socket.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = &hall.tls else {
        return converse(hall, socket, Peer::new(address.ip(), None), address, stranger).await;
    };
    let handshake = timeout(hall.limits.handshake_timeout, hall.handshakes.accept(socket, Arc::clone(tls)));
    let outcome = tokio::select! {
        outcome = handshake => outcome,
        () = stranger.told_to_go() => return hall.failed(Failure::NoRoom, &MADE_ROOM, address),
        () = hall.closing.goaway.cancelled() => return,
    };
    match outcome {
        Ok(Ok(stream)) => {
            let leaf = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first()).map(|leaf| leaf.to_vec());
            let peer = Peer::new(address.ip(), leaf.as_deref());
            converse(hall, stream, peer, address, stranger).await;
        }
        Ok(Err(error)) => hall.tell(error.failure(), &error, error.certificate(), address),
        Err(_) => hall.failed(Failure::TimedOut, &"no complete handshake in time", address),
    }
}

async fn converse(
    hall: &Hall,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    address: SocketAddr,
    stranger: Arc<Stranger>,
) {
    let connection = Arc::new(Connection::new(peer, Arc::clone(&stranger), hall.limits.failed_authentications));
    let answer = service_fn(|request: Request<Incoming>| {
        let (rpc, connection) = (Arc::clone(&hall.rpc), Arc::clone(&connection));
        let (head, body) = request.into_parts();
        // In a box from the start: hyper moves what it is given several times.
        Box::pin(async move { Ok::<_, Infallible>(rpc.answer(&connection, &head, body.into()).await) })
    });
    let arrivals = Arrivals::default();
    let mut http = pin!(builder(&hall.limits, &arrivals).serve_connection(TokioIo::new(stream), answer));
    let mut streams = Streams::new(arrivals);

    let mut introduction = pin!(sleep(hall.limits.authentication_timeout));
    let mut old = pin!(sleep(hall.limits.max_connection_age.map_or(FOREVER, jittered)));
    let mut leave_by = pin!(sleep(FOREVER));
    let (mut told, mut judged) = (false, false);
    loop {
        tokio::select! {
            ended = streams.run(http.as_mut()) => {
                if let Err(error) = ended && !connection.is_authenticated() {
                    hall.failed(Failure::Gone, &error, address);
                }
                return;
            }
            () = &mut introduction, if !judged => {
                // Asked only now: a condition on the branch is read when the wait begins, before any RPC has come.
                if !connection.is_authenticated() {
                    return hall.failed(Failure::TimedOut, &"no authenticated RPC in time", address);
                }
                judged = true;
            }
            () = stranger.told_to_go() => return hall.failed(Failure::NoRoom, &MADE_ROOM, address),
            () = hall.closing.kill.cancelled() => return,
            () = &mut leave_by => return,
            () = hall.closing.goaway.cancelled(), if !told => {
                // Nothing of ours is under way on it, and hyper would wait for a preface that may never come.
                if !connection.is_authenticated() {
                    return;
                }
                told = true;
                http.as_mut().graceful_shutdown();
            }
            () = &mut old, if !told => {
                told = true;
                http.as_mut().graceful_shutdown();
            }
            () = connection.hopeless.cancelled(), if leave_by.deadline() > Instant::now() + LAST_WORDS => {
                told = true;
                http.as_mut().graceful_shutdown();
                leave_by.as_mut().reset(Instant::now() + LAST_WORDS);
            }
        }
    }
}

/// 30 years: what tokio's timer can hold, and nobody sees.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// HTTP/2 settings. A request has under 1 KiB, so everything that could be filled with more is kept small.
fn builder(limits: &Limits, arrivals: &Arrivals) -> http2::Builder<Arrivals> {
    let mut builder = http2::Builder::new(arrivals.clone());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(8 * 1024)
        .max_frame_size(16 * 1024)
        .initial_stream_window_size(64 * 1024)
        .initial_connection_window_size(1024 * 1024)
        .max_send_buf_size(64 * 1024)
        .max_pending_accept_reset_streams(limits.pending_resets)
        // Counted over the life of a connection, which may be weeks.
        .max_local_error_reset_streams(1024)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}
