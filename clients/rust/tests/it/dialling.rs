//! Every step of a dial that fails says which and why.

use std::time::Duration;

use credgate_client::{CallError, Endpoint, ServingStatus, Settings, Step, dial};
use tokio::time::Instant;

use crate::{
    gateway::Gateway,
    peers::{self, Peer},
    pki::Pki,
    script::Script,
};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

async fn sentence(settings: &Settings, timeout: Duration) -> String {
    let endpoint = Endpoint::prepare(settings).unwrap();
    dial(&endpoint, Instant::now() + timeout).await.unwrap_err().to_string()
}

async fn gateway(tls: rustls::ServerConfig) -> Gateway {
    Gateway::start("127.0.0.1:0", Some(tls), Script::new(|node, _| async { Ok(node) })).await
}

#[tokio::test]
async fn tcp() {
    let pki = Pki::new();
    let (closed, _socket) = peers::closed();
    assert_eq!(sentence(&pki.settings(closed), LONG).await, "connect: connection refused");
    let text = sentence(&pki.settings("gateway.invalid:7443"), LONG).await;
    assert!(text.starts_with("resolve: "), "{text}");
}

#[tokio::test]
async fn peers_without_tls() {
    let pki = Pki::new();
    for (peer, timeout, wanted) in [
        (Peer::Stopped, SHORT, "tls: timed out"),
        (Peer::Closing, LONG, "tls: the server closed the connection"),
        (Peer::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), LONG, "tls: the server speaks no TLS (is it plaintext?)"),
        (Peer::Says(b"\0\0\0\x04\0\0\0\0\0"), LONG, "tls: the server speaks no TLS (is it plaintext?)"),
    ] {
        let begun = Instant::now();
        let text = sentence(&pki.settings(peers::raw(peer).await), timeout).await;
        let closed = matches!(peer, Peer::Closing) && text == "tls: connection reset";
        assert!(text == wanted || closed, "{peer:?}: {text}");
        assert!(begun.elapsed() < SHORT * 20);
    }
    let plain = Gateway::start("127.0.0.1:0", None, Script::new(|node, _| async { Ok(node) })).await;
    let text = sentence(&pki.settings(plain.address), LONG).await;
    assert_eq!(text, "tls: the server speaks no TLS (is it plaintext?)");
}

#[tokio::test]
async fn certificates_of_the_server() {
    let pki = Pki::new();
    pki.issue("expired", &["127.0.0.1"], 2021);
    pki.issue("elsewhere", &["gateway.example.net"], 2400);

    let right = gateway(pki.server("server", false)).await;
    let settings = Settings { ca: Some(pki.file("other-ca.pem")), ..pki.settings(right.address) };
    let text = sentence(&settings, LONG).await;
    assert_eq!(text, "tls: the server's certificate is not signed by the given CA");

    let expired = gateway(pki.server("expired", false)).await;
    assert_eq!(sentence(&pki.settings(expired.address), LONG).await, "tls: the server's certificate has expired");

    let elsewhere = gateway(pki.server("elsewhere", false)).await;
    let settings = pki.settings(elsewhere.address);
    let text = sentence(&settings, LONG).await;
    assert_eq!(text, "tls: the certificate is for other names than 127.0.0.1");
    let settings = Settings { server_name: Some("gateway.example.net".to_owned()), ..settings };
    let endpoint = Endpoint::prepare(&settings).unwrap();
    dial(&endpoint, Instant::now() + LONG).await.unwrap();
}

#[tokio::test]
async fn a_missing_or_expired_client_certificate_is_told_by_the_dial() {
    let pki = Pki::new();
    pki.issue("old", &["registrar.example.net"], 2021);
    let gateway = gateway(pki.server("server", true)).await;
    let none = Settings { cert: None, key: None, ..pki.settings(gateway.address) };
    assert_eq!(sentence(&none, LONG).await, "tls: the server requires a client certificate");

    let old = Settings { cert: Some(pki.file("old.pem")), key: Some(pki.file("old.key")), ..none.clone() };
    let text = sentence(&old, LONG).await;
    assert_eq!(text, "tls: the server says that our client certificate has expired, or is not valid yet");

    for (name, wanted) in [
        ("another CA", "tls: the server does not know the CA of our client certificate"),
        ("test CA", "tls: the server cannot verify our client certificate (signed by another CA of the same name?)"),
    ] {
        let other = Pki::named(name);
        let (cert, key) = (Some(other.file("client.pem")), Some(other.file("client.key")));
        assert_eq!(sentence(&Settings { cert, key, ..none.clone() }, LONG).await, wanted);
    }
}

#[tokio::test]
async fn tls_without_http2() {
    let pki = Pki::new();
    let silent = peers::tls(pki.server("server", false), b"").await;
    assert_eq!(sentence(&pki.settings(silent), SHORT).await, "http2: timed out");

    let garbage = peers::tls(pki.server("server", false), b"220 mail.example.net ESMTP\r\n").await;
    assert_eq!(sentence(&pki.settings(garbage), LONG).await, "http2: the server does not speak HTTP/2");

    let mut http1 = pki.server("server", false);
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    let wanted = "tls: the server does not offer HTTP/2 (ALPN h2); is it a credgate gateway?";
    assert_eq!(sentence(&pki.settings(peers::tls(http1, b"").await), LONG).await, wanted);
    let mut mute = pki.server("server", false);
    mute.alpn_protocols.clear();
    assert_eq!(sentence(&pki.settings(peers::tls(mute, b"").await), LONG).await, wanted);
}

#[tokio::test]
async fn plaintext_on_loopback() {
    let pki = Pki::new();
    let settings =
        |address: String| Settings { address, token_file: pki.file("token"), plaintext: true, ..Settings::default() };
    let plain = Gateway::start("127.0.0.1:0", None, tonic_health::server::health_reporter().1).await;
    for address in [plain.address.to_string(), format!("localhost:{}", plain.address.port())] {
        let endpoint = Endpoint::prepare(&settings(address)).unwrap();
        let connection = dial(&endpoint, Instant::now() + LONG).await.unwrap();
        assert_eq!(connection.check("", Instant::now() + LONG).await.unwrap(), ServingStatus::Serving);
        let unknown = connection.check("nothing", Instant::now() + LONG).await.unwrap_err();
        assert_eq!(unknown.to_string(), "rpc: NOT_FOUND");
    }
    let tls = gateway(pki.server("server", false)).await;
    let text = sentence(&settings(tls.address.to_string()), LONG).await;
    assert_eq!(text, "http2: the server speaks TLS; leave plaintext out");
}

#[tokio::test]
async fn a_call_that_gets_no_answer_ends() {
    let pki = Pki::new();
    let words = b"\0\0\0\x04\0\0\0\0\0";
    let deaf = peers::tls(pki.server("server", false), words).await;
    let endpoint = Endpoint::prepare(&pki.settings(deaf)).unwrap();
    let connection = dial(&endpoint, Instant::now() + LONG).await.unwrap();
    let begun = Instant::now();
    let error = connection.check("readiness", begun + SHORT).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut), "{error}");
    assert!(begun.elapsed() < SHORT * 10);
    assert_eq!(Step::Http2.to_string(), "http2");
}
