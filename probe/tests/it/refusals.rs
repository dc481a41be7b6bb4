//! Peers that do not let the probe in: the line names the step and the reason (H1, T13).

use tonic_health::server::health_reporter;

use crate::{
    gateway::Gateway,
    peers::{self, Peer},
    pki::Pki,
    run::Probe,
};

async fn gateway(pki: &Pki, certificate: &str, mutual: bool) -> Gateway {
    Gateway::start("127.0.0.1:0", Some(pki.server(certificate, mutual)), health_reporter().1).await
}

#[tokio::test]
async fn nobody_there() {
    let pki = Pki::new();
    let (closed, _socket) = peers::closed();
    assert_eq!(Probe::complete(&pki, closed).failure().await, "connect: connection refused");
    let text = Probe::complete(&pki, "gateway.invalid:7444").with("--timeout", "20s").failure().await;
    assert!(text.starts_with("resolve: "), "{text}");
}

#[tokio::test]
async fn certificates() {
    let pki = Pki::new();
    pki.issue("expired", &["127.0.0.1"], 2021);
    pki.issue("elsewhere", &["gateway.example.net"], 2400);
    let mutual = gateway(&pki, "server", true).await;
    let text = Probe::without_certificate(&pki, mutual.address).failure().await;
    assert_eq!(text, "tls: the server requires a client certificate");

    let other = Pki::named("another CA");
    let text = Probe::complete(&other, mutual.address).failure().await;
    assert_eq!(text, "tls: the server's certificate is not signed by the given CA");

    let expired = gateway(&pki, "expired", true).await;
    let text = Probe::complete(&pki, expired.address).failure().await;
    assert_eq!(text, "tls: the server's certificate has expired");

    let elsewhere = gateway(&pki, "elsewhere", true).await;
    let text = Probe::complete(&pki, elsewhere.address).failure().await;
    assert_eq!(text, "tls: the certificate is for other names than 127.0.0.1");
    let named = Probe::complete(&pki, elsewhere.address).with("--server-name", "gateway.example.net");
    assert_eq!(named.failure().await, "rpc: NOT_FOUND (the server has no health status of this name)");
}

#[tokio::test]
async fn plaintext_and_tls_mixed_up() {
    let pki = Pki::new();
    let plain = Gateway::start("127.0.0.1:0", None, health_reporter().1).await;
    let text = Probe::complete(&pki, plain.address).failure().await;
    assert_eq!(text, "tls: the server speaks no TLS (is it plaintext?)");

    let tls = gateway(&pki, "server", false).await;
    let probe = Probe::new("readiness", tls.address).with("--token-file", pki.file("token")).and("--plaintext");
    assert_eq!(probe.failure().await, "http2: the server speaks TLS; leave plaintext out");

    let http1 = peers::raw(Peer::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    let probe = Probe::new("readiness", http1).with("--token-file", pki.file("token")).and("--plaintext");
    assert_eq!(probe.failure().await, "http2: the server does not speak HTTP/2");
}
