//! Raw bytes at a plaintext door, in this process: the door answers or closes, and nothing panics.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    process::abort,
    sync::{Arc, OnceLock},
    time::Duration,
};

use credgate::{
    admission::{Capacity, Rate, RateLimits},
    backend::Backend,
    door::{Closing, Door, Limits, bind},
    health::{Board, HealthService, WatchLimits},
    lookup::Lookup,
    principal::Refusal,
    rpc::Rpc,
    shutdown::{Phase, Phases},
    telemetry::{Metrics, OutcomeLog, Repeats},
};
use credgate_provider::{BoxFuture, Deadline, NodeId, NodeIdRule, Password, Provider, ProviderError, Slot};
use tonic_health::pb::health_server::HealthServer;

use crate::identities;

/// Longer than every time-out of the door together; whoever waits that long has found a connection that is never closed.
const BOUND: Duration = Duration::from_secs(20);

/// The client's connection preface and an empty SETTINGS frame (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Sends the bytes, behind a right preface when the first of them is odd, and reads until the door closes.
pub fn door(data: &[u8]) {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    let address = ADDRESS.get_or_init(open);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let (preface, rest) = match data.split_first() {
        Some((first, rest)) if first % 2 == 1 => (PREFACE, rest),
        Some((_, rest)) => (&[][..], rest),
        None => (&[][..], data),
    };
    // The door may close while we still write: that is its right.
    let _ = stream.write_all(preface).and_then(|()| stream.write_all(rest));
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = [0; 4096];
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return,
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("not closed within {BOUND:?}"),
            Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// A door on a free port, served by a thread that lives as long as the process.
fn open() -> SocketAddr {
    // tokio would catch a panic of a connection's task and go on; here it is a finding.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        abort();
    }));
    let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(serve(listener)).unwrap();
    });
    address
}

async fn serve(listener: std::net::TcpListener) -> std::io::Result<()> {
    let phases = Phases::new();
    phases.enter(Phase::Serving);
    let board = Arc::new(Board::new(phases.clone(), BOUND, BOUND));
    board.checked(true);
    let watch = WatchLimits { max_age: Duration::from_secs(1), total: 8, per_identity: 8 };
    let lookup = Lookup {
        phases,
        rate: Rate::new(RateLimits::default(), 1),
        timeout: Duration::from_millis(200),
        node_ids: NodeIdRule::default(),
        capacity: Arc::new(Capacity::new(2, 2)),
        backend: Arc::new(Backend::new(Arc::new(Nobody))),
        in_flight: Default::default(),
        log: OutcomeLog::default(),
        audit: None,
    };
    let rpc = Arc::new(Rpc {
        identities: Arc::new(identities(&[])),
        lookup: Some(Arc::new(lookup)),
        health: HealthServer::new(HealthService::new(board, watch, Phase::Draining, 1)),
        metrics: Arc::new(Metrics::new().unwrap()),
        refusals: Refusal::ALL.map(|refusal| Repeats::of("authentication failed", refusal.label())),
    });
    let limits = Limits {
        connections: 64,
        connections_per_source: 64,
        handshakes: 8,
        handshake_timeout: Duration::from_secs(1),
        authentication_timeout: Duration::from_secs(1),
        failed_authentications: 8,
        streams_per_connection: 16,
        pending_resets: 16,
        max_connection_age: Some(Duration::from_secs(2)),
    };
    Door { name: "lookup", listener, tls: None, limits, rpc, closing: Closing::default() }.serve().await
}

/// A store without nodes.
struct Nobody;

impl Provider for Nobody {
    fn lookup<'a>(
        &'a self,
        _: &'a NodeId,
        _: Deadline,
        _: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        Box::pin(async { Ok(None) })
    }

    fn check(&self, _: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(async { Ok(()) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn summary(&self) -> String {
        "nobody".into()
    }
}
