//! One deadline over everything: whatever a peer leaves out, the probe ends in time and says where it waited.

use std::time::{Duration, Instant};

use crate::{
    peers::{self, Peer},
    pki::Pki,
    run::Probe,
};

#[tokio::test]
async fn silent_peers() {
    let pki = Pki::new();
    let stopped = peers::raw(Peer::Stopped).await;
    let shaken = peers::tls(pki.server("server", true), b"").await;
    let settled = peers::tls(pki.server("server", true), b"\0\0\0\x04\0\0\0\0\0").await;
    for (address, wanted) in [(stopped, "tls: timed out"), (shaken, "http2: timed out"), (settled, "rpc: timed out")] {
        let begun = Instant::now();
        let text = Probe::complete(&pki, address).with("--timeout", "300ms").failure().await;
        assert_eq!(text, wanted);
        let took = begun.elapsed();
        // The upper bound leaves room for a busy test host; the deadline itself is 300 ms.
        assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&took), "{wanted}: {took:?}");
    }
    let closing = peers::raw(Peer::Closing).await;
    let text = Probe::complete(&pki, closing).with("--timeout", "20s").failure().await;
    assert!(["tls: the server closed the connection", "tls: connection reset"].contains(&text.as_str()), "{text}");
}
