//! The door: accepts connections, and closes those that bring nothing.
//!
//! tonic's own server cannot bound connections, handshakes, or a client that never speaks HTTP/2; so the accept loop is
//! ours, over tokio-rustls and hyper. One bad client never stops it.

mod connection;
mod failure;
mod handshake;
mod peer;
mod sources;
mod strangers;
mod streams;
mod turns;
mod verifier;

pub use connection::Connection;
pub use failure::Failure;
pub use peer::{Certificate, Peer};
pub use streams::{Arrivals, Streams};
pub use verifier::Verifier;

use std::{
    fmt::Display,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_provider::Detail;
use socket2::{Domain, Socket, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admission::Source,
    rpc::Rpc,
    telemetry::{DoorHandles, Repeats},
};
use handshake::Handshakes;
use sources::Sources;
use strangers::{Stranger, Strangers};

/// Bounds of one listener.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once from one source.
    pub connections_per_source: usize,
    /// TLS handshakes under way.
    pub handshakes: usize,
    /// The longest one of them may take.
    pub handshake_timeout: Duration,
    /// The longest a connection may go without an authenticated RPC at its start.
    pub authentication_timeout: Duration,
    /// Failed authentications in a row that close a connection.
    pub failed_authentications: u32,
    /// RPCs at once on one connection.
    pub streams_per_connection: u32,
    /// Calls on one connection that were reset before they were looked at.
    pub pending_resets: usize,
    /// Age at which a connection is asked to close (GOAWAY), with jitter.
    pub max_connection_age: Option<Duration>,
}

/// One listener: its socket, its rules, and the way to end it.
#[derive(Debug)]
pub struct Door {
    /// For log and metrics.
    pub name: &'static str,
    /// Bound and listening.
    pub listener: std::net::TcpListener,
    /// What it speaks; absent = plaintext.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Its bounds.
    pub limits: Limits,
    /// What it answers with.
    pub rpc: Arc<Rpc>,
    /// How it is ended.
    pub closing: Closing,
}

/// How a listener ends: step by step, from outside.
#[derive(Clone, Debug, Default)]
pub struct Closing {
    /// No more connections; those that are open get GOAWAY.
    pub goaway: CancellationToken,
    /// Connections are cut.
    pub kill: CancellationToken,
    /// Every connection.
    pub connections: TaskTracker,
}

/// A full descriptor table is waited out for this long (measured: without it tonic's loop burns a core).
const BACK_OFF: Duration = Duration::from_millis(20);

/// Connections that wait to be accepted; the system caps it (net.core.somaxconn).
const BACKLOG: i32 = 1024;

/// Opens a listening socket, to be served on any runtime. A restart must not wait for the kernel's TIME_WAIT, hence
/// SO_REUSEADDR.
pub fn bind(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

impl Door {
    /// Accepts until GOAWAY is asked for. The listening socket is closed on return; connections live on in their tasks.
    pub async fn serve(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let hall = Arc::new(Hall {
            name: self.name,
            tls: self.tls,
            limits: self.limits,
            rpc: self.rpc,
            handshakes: Handshakes::new(self.limits.handshakes),
            sources: Sources::new(self.limits.connections_per_source),
            strangers: Strangers::default(),
            open: AtomicUsize::new(0),
            closing: self.closing.clone(),
            failures: Failure::ALL.map(|failure| Repeats::of("connection failed", failure.label())),
        });
        let repeats = Repeats::of("cannot accept a connection", self.name);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.closing.goaway.cancelled() => return Ok(()),
            };
            match accepted {
                Ok((socket, address)) => hall.admit(socket, address),
                Err(error) => {
                    if let Some(more) = repeats.allow("") {
                        tracing::warn!(listener = self.name, %error, more, "cannot accept a connection");
                    }
                    // The peer's own doing (ECONNABORTED and the like) costs nothing; our lack of descriptors passes.
                    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
                        sleep(BACK_OFF).await;
                    }
                }
            }
        }
    }
}

/// What all connections of a listener share.
#[derive(Debug)]
struct Hall {
    name: &'static str,
    tls: Option<Arc<rustls::ServerConfig>>,
    limits: Limits,
    rpc: Arc<Rpc>,
    handshakes: Handshakes,
    sources: Sources,
    strangers: Strangers,
    open: AtomicUsize,
    closing: Closing,
    /// Each cause at its own pace, so that none hides another.
    failures: [Repeats; Failure::ALL.len()],
}

impl Hall {
    /// Takes a connection in, or drops it.
    fn admit(self: &Arc<Self>, socket: TcpStream, address: SocketAddr) {
        let Some(place) = self.place(address) else { return };
        let hall = Arc::clone(self);
        let stranger = Arc::new(self.strangers.enter(address.ip().into()));
        self.closing.connections.spawn(async move {
            connection::serve(&hall, socket, address, stranger).await;
            drop(place);
        });
    }

    /// A place below the caps; where one is reached, a stranger has to go for it, and is counted until it has gone.
    fn place(self: &Arc<Self>, address: SocketAddr) -> Option<Place> {
        let source = Source::from(address.ip());
        let Some(source) = self.sources.enter(source, || self.strangers.make_room(Some(source))) else {
            self.refuse(Failure::TooManyOfSource, "connections_per_source", address);
            return None;
        };
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.limits.connections && !self.strangers.make_room(None) {
            self.open.fetch_sub(1, Ordering::Relaxed);
            self.refuse(Failure::TooMany, "connections", address);
            return None;
        }
        self.metrics().came();
        Some(Place { hall: Arc::clone(self), _source: source })
    }

    /// Names the setting that was reached, in the words of this listener's table.
    fn refuse(&self, failure: Failure, setting: &str, address: SocketAddr) {
        let table = if self.name == "control" { "control" } else { "limits" };
        self.failed(failure, &format_args!("{table}.{setting} reached"), address);
    }

    /// Tells of a connection that was refused or came to nothing.
    fn failed(&self, failure: Failure, detail: &dyn Display, address: SocketAddr) {
        self.tell(failure, detail, None, address);
    }

    /// The same, with the certificate that was the cause.
    fn tell(&self, failure: Failure, detail: &dyn Display, certificate: Option<&Detail>, address: SocketAddr) {
        self.metrics().failed[failure as usize].increment(1);
        // Text, which the log quotes: both are the peer's words, and must not pass for fields of the line.
        let (detail, certificate) = (Detail::new(detail).to_string(), certificate.map(ToString::to_string));
        // One refused client must not hide another.
        let kind = certificate.as_ref().map_or_else(|| detail.clone(), |certificate| format!("{detail} {certificate}"));
        if let Some(more) = self.failures[failure as usize].allow(&kind) {
            let cause = failure.label();
            tracing::warn!(listener = self.name, cause, detail, certificate, peer = %address.ip(), more, "connection failed");
        }
    }

    fn metrics(&self) -> &DoorHandles {
        self.rpc.metrics.door(self.name)
    }
}

/// A connection's place among those that are open.
struct Place {
    hall: Arc<Hall>,
    _source: sources::Place,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hall.open.fetch_sub(1, Ordering::Relaxed);
        self.hall.metrics().open.decrement(1);
    }
}
