//! TLS handshakes under way: bounded in number and time, first come, first served.
//!
//! Nobody takes a place before the first byte, so those that stay silent cost the others nothing. When all places are
//! taken, the oldest one that has not sent a whole ClientHello makes room at once, and one whose client stands still behind it
//! after half a second. Whoever waits for a place is never sent away for a newer one: a crowd that comes back after an
//! outage gets in bit by bit.

use std::{
    collections::VecDeque,
    io,
    ops::Deref,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
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
    /// Those that have one, oldest first.
    under_way: Mutex<VecDeque<Arc<UnderWay>>>,
}

/// A handshake that has a place.
#[derive(Debug)]
struct UnderWay {
    since: Instant,
    /// Its ClientHello is whole.
    spoke: AtomicBool,
    told_to_go: CancellationToken,
}

/// How long a client may stand still behind its ClientHello while others wait: the farthest answer within 300 ms.
const STANDING: Duration = Duration::from_millis(500);

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// Others waited, and its client stood still.
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
        Self { places: Arc::new(Semaphore::new(most)), under_way: Mutex::default() }
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
        let place = self.begin();
        let handshake = async {
            let start = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
            place.spoke.store(true, Ordering::Relaxed);
            let (ended, certificate) = verifier::noting(start.into_stream(tls)).await;
            ended.map_err(|error| HandshakeError::Tls { error, certificate })
        };
        tokio::select! {
            ended = handshake => ended,
            () = place.told_to_go.cancelled() => Err(HandshakeError::NoRoom),
        }
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

    /// Tells one to go, if there is one that must; else when there may be.
    fn make_room(&self) -> Instant {
        let now = Instant::now();
        let mut under_way = self.lock();
        let standing = |one: &Arc<UnderWay>| !one.spoke.load(Ordering::Relaxed) || one.since + STANDING <= now;
        if let Some(oldest) = under_way.iter().position(standing).and_then(|index| under_way.remove(index)) {
            // The place comes back as soon as its task runs.
            oldest.told_to_go.cancel();
            return now + STANDING;
        }
        under_way.front().map_or(now, |oldest| oldest.since) + STANDING
    }

    fn begin(&self) -> Place<'_> {
        let one = Arc::new(UnderWay {
            since: Instant::now(),
            spoke: AtomicBool::new(false),
            told_to_go: CancellationToken::new(),
        });
        self.lock().push_back(Arc::clone(&one));
        Place { table: self, one }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<UnderWay>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the table, until the handshake has ended.
struct Place<'a> {
    table: &'a Handshakes,
    one: Arc<UnderWay>,
}

impl Deref for Place<'_> {
    type Target = UnderWay;

    fn deref(&self) -> &UnderWay {
        &self.one
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.table.lock().retain(|one| !Arc::ptr_eq(one, &self.one));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    /// The first bytes of a ClientHello, and a whole one of TLS 1.2 that wants what we do not have.
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
        let first = table.begin();
        first.spoke.store(true, Ordering::Relaxed);
        let began = Instant::now();
        let mut waiting = [(); 3].map(|()| Box::pin(table.place()));
        for waiter in &mut waiting {
            assert!(futures::poll!(waiter).is_pending());
        }
        assert!(!first.told_to_go.is_cancelled());
        let told = async {
            tokio::select! {
                () = first.told_to_go.cancelled() => {}
                _ = futures::future::join_all(&mut waiting) => unreachable!("there is one place"),
            }
        };
        told.await;
        assert_eq!(began.elapsed().as_millis() / 10, STANDING.as_millis() / 10);
    }
}
