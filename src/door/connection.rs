//! The life of one connection: handshake, HTTP/2, and the reasons to end it.

use std::{
    convert::Infallible,
    error::Error as _,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep, timeout},
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
    pub(super) fn new(peer: Peer, stranger: Arc<Stranger>, most_failures: u32) -> Self {
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

    pub(super) fn is_authenticated(&self) -> bool {
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
    let mut streams = Streams::new(arrivals.clone());
    let io = TokioIo::new(streams.in_turns(stream, &connection));
    let mut http = pin!(builder(&hall.limits, arrivals).serve_connection(io, answer));
    // Each is polled only when it has come: a connection wakes for every handful of calls, and none of these concerns them.
    let mut events: FuturesUnordered<BoxFuture<'_, Event>> = [
        sleep(hall.limits.authentication_timeout).map(|()| Event::Introduction).boxed(),
        stranger.told_to_go().map(|()| Event::RoomWanted).boxed(),
        connection.hopeless.cancelled().map(|()| Event::Hopeless).boxed(),
        hall.closing.goaway.cancelled().map(|()| Event::GoAway).boxed(),
        hall.closing.kill.cancelled().map(|()| Event::Kill).boxed(),
    ]
    .into_iter()
    .collect();
    if let Some(age) = hall.limits.max_connection_age {
        events.push(sleep(jittered(age)).map(|()| Event::GoAway).boxed());
    }
    loop {
        let event = tokio::select! {
            ended = streams.run(http.as_mut()) => {
                if let Err(error) = ended && !connection.is_authenticated() {
                    hall.failed(Failure::Gone, &with_cause(&error), address);
                }
                return;
            }
            Some(event) = events.next() => event,
        };
        match event {
            Event::Introduction if connection.is_authenticated() => {}
            Event::Introduction => return hall.failed(Failure::TimedOut, &"no authenticated RPC in time", address),
            Event::RoomWanted => return hall.failed(Failure::NoRoom, &MADE_ROOM, address),
            // Nothing of ours is under way on it, and hyper would wait for a preface that may never come.
            Event::GoAway if !connection.is_authenticated() => return,
            Event::GoAway => http.as_mut().graceful_shutdown(),
            Event::Hopeless => {
                http.as_mut().graceful_shutdown();
                events.push(sleep(LAST_WORDS).map(|()| Event::Kill).boxed());
            }
            Event::Kill => return,
        }
    }
}

/// What may end a connection, beside its peer.
enum Event {
    /// By now there must have been an authenticated RPC.
    Introduction,
    /// A cap is reached.
    RoomWanted,
    /// Too many failed authentications in a row.
    Hopeless,
    /// It is asked to close: the gateway drains, or it is old.
    GoAway,
    /// It is cut.
    Kill,
}

/// hyper's own words end at "connection error".
fn with_cause(error: &hyper::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// HTTP/2 settings. A request has under 1 KiB, so everything that could be filled with more is kept small.
fn builder(limits: &Limits, arrivals: Arrivals) -> http2::Builder<Arrivals> {
    let mut builder = http2::Builder::new(arrivals);
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
        // A clock read and a header for each answer, which gRPC has no use for.
        .auto_date_header(false)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}
