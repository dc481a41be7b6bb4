//! Connections as misbehaving clients make them: silent, half open, garbage, floods of hand-made frames.
//!
//! ```no_run
//! # use credgate_support::{deployment::Deployment, wire::{self, Target}};
//! # use std::time::Duration;
//! # async fn example(deployment: Deployment) {
//! let gateway = deployment.start();
//! let idle = wire::silent(gateway.lookup, 400).await; // TCP, and then nothing
//! let target = deployment.target(gateway.lookup, &deployment.probe);
//! let mut mute = target.connect().await.unwrap(); // TLS, and then nothing
//! let closing = wire::closed_within(&mut mute, Duration::from_secs(20)).await;
//! assert!(closing.after < Duration::from_secs(12), "{closing:?}");
//! # }
//! ```

pub mod frames;

use std::{
    fmt,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::{
    deployment::{Deployment, Identity, SERVER_NAME, Security},
    pki::{Issued, client_config},
};

/// Where to connect to and how.
#[derive(Clone)]
pub struct Target {
    /// The listener.
    pub address: SocketAddr,
    /// The local address to come from, e.g. 127.0.0.2; `None` lets the system choose.
    pub source: Option<IpAddr>,
    /// TLS, unless the connection is plain.
    pub tls: Option<Arc<ClientConfig>>,
    /// The name that the server's certificate must carry.
    pub server_name: String,
}

/// A connected stream, TLS or plain.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// How the other end closed a connection.
#[derive(Clone, PartialEq, Eq)]
pub struct Closing {
    /// Counted from the call.
    pub after: Duration,
    /// What still came.
    pub received: Vec<u8>,
    /// The error that ended it, e.g. a reset or a TLS alert; `None` for an orderly end.
    pub error: Option<String>,
}

impl Target {
    /// Without TLS.
    pub fn plain(address: SocketAddr) -> Self {
        Self { address, source: None, tls: None, server_name: SERVER_NAME.into() }
    }

    /// With TLS; `certificate` is shown when the server asks for one.
    pub fn tls(address: SocketAddr, roots: RootCertStore, certificate: Option<&Issued>) -> Self {
        Self { tls: Some(Arc::new(client_config(roots, certificate))), ..Self::plain(address) }
    }

    /// The same, coming from another local address.
    pub fn from(mut self, source: impl Into<IpAddr>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Connects, including the TLS handshake. TLS 1.3 lets a client believe in success before the server has judged its
    /// certificate: that verdict comes with the first read.
    pub async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let tcp = self.connect_tcp().await?;
        let Some(config) = &self.tls else { return Ok(Box::new(tcp)) };
        let name = ServerName::try_from(self.server_name.clone()).unwrap();
        Ok(Box::new(TlsConnector::from(Arc::clone(config)).connect(name, tcp).await?))
    }

    /// Connects, and leaves TLS out whatever the target says.
    pub async fn connect_tcp(&self) -> io::Result<TcpStream> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        if let Some(source) = self.source {
            socket.bind((source, 0).into())?;
        }
        socket.set_nodelay(true)?;
        socket.connect(self.address).await
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls.is_some() { "TLS" } else { "plain" };
        write!(f, "{} from {:?}, {tls}", self.address, self.source)
    }
}

impl Deployment {
    /// A listener of this deployment as an identity reaches it.
    pub fn target(&self, address: SocketAddr, identity: &Identity) -> Target {
        match self.security {
            Security::Plaintext => Target::plain(address),
            Security::Mtls | Security::Token => Target::tls(address, self.ca.roots(), identity.certificate.as_ref()),
        }
    }
}

/// Opens `count` TCP connections that say nothing.
pub async fn silent(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let target = Target::plain(address);
    let mut streams = Vec::with_capacity(count);
    for number in 0..count {
        let stream = target.connect_tcp().await.unwrap_or_else(|error| panic!("silent connection {number}: {error}"));
        streams.push(stream);
    }
    streams
}

/// Opens `count` connections at once, TLS included where the target has it.
pub async fn crowd(target: &Target, count: usize) -> Vec<io::Result<Box<dyn Stream>>> {
    join_all((0..count).map(|_| target.connect())).await
}

/// The bytes that begin a handshake with this target.
pub fn client_hello(target: &Target) -> Vec<u8> {
    let name = ServerName::try_from(target.server_name.clone()).unwrap();
    let mut client = ClientConnection::new(Arc::clone(target.tls.as_ref().unwrap()), name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

/// Opens a TCP connection and sends bytes. Plaintext HTTP/2 for a TLS listener is [`frames::hello`].
pub async fn shout(address: SocketAddr, bytes: &[u8]) -> io::Result<TcpStream> {
    let mut stream = Target::plain(address).connect_tcp().await?;
    stream.write_all(bytes).await?;
    Ok(stream)
}

/// Reads until the other end closes the connection.
pub async fn closed_within(stream: &mut (impl AsyncRead + Unpin + ?Sized), bound: Duration) -> Closing {
    let begin = Instant::now();
    let mut received = Vec::new();
    match timeout(bound, stream.read_to_end(&mut received)).await {
        Ok(Ok(_)) => Closing { after: begin.elapsed(), received, error: None },
        Ok(Err(error)) => {
            // rustls reports a connection that ends without close_notify: the end is what is waited for here.
            let error = (error.kind() != ErrorKind::UnexpectedEof).then(|| error.to_string());
            Closing { after: begin.elapsed(), received, error }
        }
        Err(_) => panic!("the connection is still open after {bound:?}; {} bytes came", received.len()),
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "closed after {:?}, {} bytes came, error {:?}", self.after, self.received.len(), self.error)
    }
}

#[cfg(test)]
mod tests;
