//! TLS handshakes under way: bounded in number and time, first come, first served.
//!
//! Nobody takes a place before its first byte, so those that stay silent cost the others nothing. When all places are
//! taken, whoever has kept us waiting for too long makes room: [`HELLO`] for the rest of a ClientHello, [`FLIGHT`] for what
//! answers ours. The time that we take ourselves counts for nobody, and whoever waits for a place is never sent away for a
//! newer one: a crowd that comes back after an outage gets in bit by bit.

use std::{
    collections::VecDeque,
    io,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use credgate_provider::Detail;
use rustls::{ServerConfig, server::Acceptor};
use tokio::{
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{Failure, verifier};

/// The table.
#[derive(Debug)]
pub struct Handshakes {
    places: Arc<Semaphore>,
    /// Those whose client has the word, longest first.
    waited_for: Mutex<VecDeque<Arc<WaitedFor>>>,
}

/// A handshake with a place, whose client has the word.
#[derive(Debug)]
struct WaitedFor {
    /// From then on it makes room, when others wait.
    until: Instant,
    told_to_go: CancellationToken,
}

/// For the rest of a ClientHello that has begun: its segments are sent at once.
const HELLO: Duration = Duration::from_millis(50);
/// For a client's answer to our part: the farthest arrives within 300 ms.
const FLIGHT: Duration = Duration::from_millis(500);

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// Others waited, and its client stood still.
    #[error("made room for another: the table of handshakes is full, and its client stood still")]
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
        Self { places: Arc::new(Semaphore::new(most)), waited_for: Mutex::default() }
    }

    /// Performs one handshake. The caller bounds it in time.
    pub async fn accept(
        &self,
        socket: TcpStream,
        tls: Arc<ServerConfig>,
    ) -> Result<TlsStream<TcpStream>, HandshakeError> {
        // Not `readable`, which may say so for nothing.
        socket.peek(&mut [0]).await?;
        let _place = self.place().await;
        let start = self.hold(HELLO, LazyConfigAcceptor::new(Acceptor::default(), socket)).await??;
        let (ended, certificate) = verifier::noting(self.hold(FLIGHT, start.into_stream(tls))).await;
        ended?.map_err(|error| HandshakeError::Tls { error, certificate })
    }

    /// Waits in line, and sees to it that those who stand still make room.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        let mut place = pin!(Arc::clone(&self.places).acquire_owned());
        let mut next_look = self.make_room();
        loop {
            tokio::select! {
                biased;
                // The semaphore is never closed.
                place = &mut place => return place.ok(),
                () = sleep_until(next_look) => next_look = self.make_room(),
            }
        }
    }

    /// Tells one to go, if there is one that must; returns when there may be the next.
    fn make_room(&self) -> Instant {
        let now = Instant::now();
        let mut waited_for = self.lock();
        let overdue = waited_for.iter().position(|one| one.until <= now);
        if let Some(one) = overdue.and_then(|index| waited_for.remove(index)) {
            // The place comes back as soon as its task runs.
            one.told_to_go.cancel();
        }
        waited_for.iter().map(|one| one.until).min().unwrap_or(now + FLIGHT)
    }

    /// Takes one step of a handshake that has a place. Its client may have `patience` before it has to make room.
    async fn hold<T>(&self, patience: Duration, step: impl Future<Output = T>) -> Result<T, HandshakeError> {
        let mut step = pin!(step);
        // Our own part, and the client's when it is there already.
        if let Poll::Ready(ended) = futures::poll!(step.as_mut()) {
            return Ok(ended);
        }
        let waiting = self.wait_for_client(patience);
        tokio::select! {
            // What has arrived counts, however late we come to read it.
            biased;
            ended = step => Ok(ended),
            () = waiting.one.told_to_go.cancelled() => Err(HandshakeError::NoRoom),
        }
    }

    fn wait_for_client(&self, patience: Duration) -> Waiting<'_> {
        let one = Arc::new(WaitedFor { until: Instant::now() + patience, told_to_go: CancellationToken::new() });
        self.lock().push_back(Arc::clone(&one));
        Waiting { table: self, one }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<WaitedFor>>> {
        self.waited_for.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry of those that are waited for, until the handshake has ended.
struct Waiting<'a> {
    table: &'a Handshakes,
    one: Arc<WaitedFor>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.table.lock().retain(|one| !Arc::ptr_eq(one, &self.one));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    /// The first bytes of a ClientHello.
    const HALF: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

    fn tls() -> Arc<ServerConfig> {
        let resolver = Arc::new(rustls::server::ResolvesServerCertUsingSni::new());
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        Arc::new(
            builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth().with_cert_resolver(resolver),
        )
    }

    async fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let (near, far) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[tokio::test]
    async fn silent_ones_take_no_place_and_slow_ones_make_room() {
        let table = Arc::new(Handshakes::new(2));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (mut peers, mut line) = (Vec::new(), Vec::new());
        let mut come = async |bytes: &[u8]| {
            let (mut peer, socket) = pair(&listener).await;
            peer.write_all(bytes).await.unwrap();
            peers.push(peer);
            let table = Arc::clone(&table);
            line.push(tokio::spawn(async move { table.accept(socket, tls()).await.unwrap_err().failure() }));
        };
        for _ in 0..5 {
            come(b"").await;
        }
        for _ in 0..2 {
            come(HALF).await;
        }
        while table.lock().len() < 2 {
            tokio::task::yield_now().await;
        }
        come(HALF).await;
        come(HALF).await;
        for slow in line.split_off(5).into_iter().take(2) {
            assert_eq!(slow.await.unwrap(), Failure::NoRoom);
        }
        for silent in line {
            assert!(silent.now_or_never().is_none(), "silent ones wait for their time to end");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_stands_still_makes_room_after_a_while_and_whoever_waits_stays() {
        let table = Arc::new(Handshakes::new(1));
        let _place = table.place().await;
        let standing = table.hold(FLIGHT, std::future::pending::<()>());
        let began = Instant::now();
        let waiting = futures::future::join_all([(); 3].map(|()| Box::pin(table.place())));
        tokio::select! {
            ended = standing => assert!(matches!(ended, Err(HandshakeError::NoRoom))),
            _ = waiting => unreachable!("there is one place"),
        }
        assert_eq!(began.elapsed().as_millis() / 10, FLIGHT.as_millis() / 10);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_arrived_counts_though_its_time_is_over() {
        let table = Handshakes::new(1);
        let (arrival, step) = tokio::sync::oneshot::channel();
        let mut held = pin!(table.hold(HELLO, step));
        assert!(futures::poll!(held.as_mut()).is_pending());
        tokio::time::advance(HELLO).await;
        table.make_room();
        arrival.send(()).unwrap();
        assert!(held.await.is_ok());
    }
}
