//! Peers that are no gateway: they refuse, stay silent, or talk nonsense.

use std::{net::SocketAddr, sync::Arc};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// An address where nobody listens, as long as the socket is kept: bound, so that nobody else takes it.
pub fn closed() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

/// What the peer does with a connection; it keeps it open afterwards.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// Accepted by the kernel alone, as with a stopped process.
    Stopped,
    /// Closed at once.
    Closing,
    /// Answers the first bytes with these.
    Says(&'static [u8]),
}

pub async fn raw(peer: Peer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut kept: Vec<TcpStream> = Vec::new();
        if let Peer::Stopped = peer {
            std::future::pending::<()>().await;
        }
        while let Ok((mut tcp, _)) = listener.accept().await {
            if let Peer::Says(words) = peer {
                let _ = tcp.read(&mut [0; 1]).await;
                let _ = tcp.write_all(words).await;
                kept.push(tcp);
            }
        }
    });
    address
}

/// Shakes hands, says `words`, and nothing more.
pub async fn tls(config: ServerConfig, words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut kept = Vec::new();
        while let Ok((tcp, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(tcp).await {
                let _ = stream.write_all(words).await;
                let _ = stream.flush().await;
                kept.push(stream);
            }
        }
    });
    address
}
