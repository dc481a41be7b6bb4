//! TLS handshakes under way: bounded in number and time.
//!
//! When the table is full, the oldest connection that has not yet sent a whole ClientHello makes room: connections that
//! stay silent cannot keep those out that speak. In a burst the oldest may itself still wait for a place.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use credgate_provider::Detail;
use rustls::{ServerConfig, server::Acceptor};
use tokio::{
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_rustls::{LazyConfigAcceptor, StartHandshake, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{Failure, verifier};

/// The table.
#[derive(Debug)]
pub struct Handshakes {
    places: Arc<Semaphore>,
    /// Those without a ClientHello, oldest first, those that wait for a place included.
    silent: Mutex<VecDeque<CancellationToken>>,
}

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// It made room for a newer one, or no room could be made.
    #[error("made room for a newer connection: the table of handshakes is full")]
    NoRoom,
    /// The peer left, or spoke no TLS, or the two could not agree.
    #[error("{error}")]
    Tls {
        /// What rustls says.
        #[source]
        error: io::Error,
        /// The client's certificate, when it was that.
        certificate: Option<Detail>,
    },
}

impl HandshakeError {
    /// What it is counted as.
    pub fn failure(&self) -> Failure {
        use rustls::Error as Tls;
        let Self::Tls { error, .. } = self else { return Failure::NoRoom };
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>()) {
            Some(Tls::NoCertificatesPresented) => Failure::NoCertificate,
            Some(Tls::InvalidCertificate(error)) => verifier::failure(error),
            Some(Tls::AlertReceived(_)) => Failure::RefusedByClient,
            Some(Tls::InvalidMessage(_) | Tls::InappropriateMessage { .. }) => Failure::NotTls,
            Some(_) => Failure::Other,
            None => Failure::Gone,
        }
    }

    /// Whose certificate was refused, for the log.
    pub fn certificate(&self) -> Option<&Detail> {
        match self {
            Self::Tls { certificate, .. } => certificate.as_ref(),
            Self::NoRoom => None,
        }
    }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Tls { error, certificate: None }
    }
}

impl Handshakes {
    pub fn new(most: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), silent: Mutex::default() }
    }

    /// Performs one handshake. The caller bounds it in time.
    pub async fn accept(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
    ) -> Result<TlsStream<TcpStream>, HandshakeError> {
        let (_place, start) = self.hello(socket).await?;
        let (ended, certificate) = verifier::noting(start.into_stream(tls)).await;
        ended.map_err(|error| HandshakeError::Tls { error, certificate })
    }

    /// Waits for a place, and there for the ClientHello, unless it has to make room before that.
    async fn hello(
        &self,
        socket: TcpStream,
    ) -> Result<(OwnedSemaphorePermit, StartHandshake<TcpStream>), HandshakeError> {
        let silent = self.line_up();
        let hello = async {
            let place = self.place().await.ok_or(HandshakeError::NoRoom)?;
            Ok((place, LazyConfigAcceptor::new(Acceptor::default(), socket).await?))
        };
        tokio::select! {
            hello = hello => hello,
            () = silent.token.cancelled() => Err(HandshakeError::NoRoom),
        }
    }

    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        // Whoever makes room gives the place back as soon as its task runs. It is the asking connection itself when all
        // others have spoken: then there is no room.
        self.lock().pop_front()?.cancel();
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    fn line_up(&self) -> Silent<'_> {
        let token = CancellationToken::new();
        self.lock().push_back(token.clone());
        Silent { table: self, token }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<CancellationToken>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that has not sent its ClientHello yet.
struct Silent<'a> {
    table: &'a Handshakes,
    token: CancellationToken,
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // Cancelling is how a token is told from its neighbours.
        self.token.cancel();
        self.table.lock().retain(|token| !token.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, poll};
    use tokio::net::TcpListener;

    use super::*;

    async fn silent(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let (near, far) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[tokio::test]
    async fn the_oldest_silent_ones_make_room_also_in_a_burst() {
        let table = Handshakes::new(2);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mut peers, mut line) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let (peer, socket) = silent(&listener).await;
            peers.push(peer);
            line.push(Box::pin(table.hello(socket)));
        }
        for waiting in &mut line {
            assert!(poll!(waiting).is_pending());
        }
        let told: Vec<bool> =
            line.iter_mut().map(|one| matches!(one.now_or_never(), Some(Err(HandshakeError::NoRoom)))).collect();
        assert_eq!(told, [true, true, true, false, false]);
    }
}
