//! The raw client against a small server on the `h2` crate.

use std::{collections::HashMap, net::SocketAddr};

use http::{HeaderMap, HeaderValue, Response};
use tokio::net::TcpListener;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::*;
use crate::pki::{Ca, Issued, Leaf, Token, server_config};

const BOUND: Duration = Duration::from_secs(10);

/// Answers by path: `/echo` returns what came, `/status` a trailers-only status with details, `/reset` RST_STREAM,
/// `/mute` headers and no more.
async fn serve(listener: TcpListener) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut open = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        match request.uri().path() {
            "/echo" => {
                let headers = request.headers().clone();
                let mut body = request.into_body();
                tokio::spawn(async move {
                    let Ok(mut send) = respond.send_response(Response::new(()), false) else { return };
                    let mut sizes = Vec::new();
                    while let Some(Ok(piece)) = body.data().await {
                        body.flow_control().release_capacity(piece.len()).unwrap();
                        sizes.push(piece.len().to_string());
                        send.send_data(piece, false).unwrap();
                    }
                    let mut trailers = HeaderMap::new();
                    trailers.insert("grpc-status", HeaderValue::from_static("0"));
                    trailers.insert("sizes", sizes.join(" ").parse().unwrap());
                    let tokens = headers.get_all("authorization").iter().count();
                    trailers.insert("tokens", tokens.into());
                    send.send_trailers(trailers).unwrap();
                });
            }
            "/status" => {
                let mut details = ErrorDetails::new();
                details.set_error_info("AT_CAPACITY", "credgate", HashMap::new());
                details.set_retry_info(Some(Duration::from_millis(250)));
                let status = Status::with_error_details(Code::ResourceExhausted, "later, 100 %", details);
                respond.send_response(status.into_http(), true).unwrap();
            }
            "/reset" => respond.send_reset(Reason::REFUSED_STREAM),
            "/goaway" => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
            _ => open.push(respond.send_response(Response::new(()), false).unwrap()),
        }
    }
}

async fn connection() -> Connection {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener));
    Connection::open(&Target::plain(address)).await.unwrap()
}

#[tokio::test]
async fn any_body_and_any_headers_arrive() {
    let connection = connection().await;
    let request = Request::to("/echo").message(b"hello").split(2).trailing(b"xy").token(&Token::random());
    let request = request.also("authorization", "Bearer other").pause(Duration::from_millis(1));
    let answer = connection.send(request, BOUND).await;
    assert_eq!((answer.ending().as_str(), &answer.end), ("OK", &End::Finished), "{answer:?}");
    assert_eq!(answer.data, b"\0\0\0\0\x05helloxy");
    assert_eq!(answer.messages(), [&b"hello"[..]]);
    let trailers = answer.trailers.unwrap();
    assert_eq!((&trailers["sizes"], &trailers["tokens"]), (&"2 2 2 2 2 2".parse().unwrap(), &"2".parse().unwrap()));

    let big = framed(1, 3, &vec![7; 300_000]);
    let answer = connection.send(Request::to("/echo").body(big.clone()), BOUND).await;
    assert!(answer.data == big, "{answer:?}");
}

#[tokio::test]
async fn statuses_and_their_details_are_read() {
    let answer = connection().await.send(Request::to("/status").no_body(), BOUND).await;
    assert_eq!(answer.ending(), "RESOURCE_EXHAUSTED AT_CAPACITY");
    assert_eq!(answer.error_info().unwrap().1, "credgate");
    assert_eq!(answer.retry_after(), Some(Duration::from_millis(250)));
    assert_eq!(answer.status().unwrap().message(), "later, 100 %");
}

#[tokio::test]
async fn every_end_has_its_name() {
    let connection = connection().await;
    let send = |path: &str| Request::to(path).no_body();
    assert_eq!(connection.send(send("/reset"), BOUND).await.end, End::Reset(Reason::REFUSED_STREAM));
    let answer = connection.send(Request::to("/mute").message(b"").no_end(), Duration::from_millis(100)).await;
    assert_eq!((answer.end.clone(), answer.ending().as_str()), (End::Open, "no status: Open"), "{answer:?}");
    let answer = connection.send(Request::to("/echo").message(b"x").no_end().then_reset(Reason::CANCEL), BOUND).await;
    assert_eq!(answer.end, End::Reset(Reason::CANCEL), "{answer:?}");
    assert_eq!(connection.send(send("/goaway"), BOUND).await.end, End::GoAway(Reason::ENHANCE_YOUR_CALM));
    assert_eq!(connection.closed(BOUND).await, End::GoAway(Reason::ENHANCE_YOUR_CALM));
}

async fn tls_server(ca: &Ca) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = server_config(&ca.issue(&Leaf::server().dns("localhost")), Some(ca));
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                respond.send_response(Response::new(()), true).unwrap();
            }
        }
    });
    address
}

#[tokio::test]
async fn a_refused_certificate_is_told() {
    let ca = Ca::new("test CA");
    let address = tls_server(&ca).await;
    let attempt = async |certificate: Option<Issued>| {
        let connection = Connection::open(&Target::tls(address, ca.roots(), certificate.as_ref())).await.unwrap();
        connection.send(Request::lookup("2000"), BOUND).await
    };
    let answer = attempt(Some(ca.issue(&Leaf::client().dns("x")))).await;
    assert_eq!(answer.http, Some(http::StatusCode::OK), "{answer:?}");
    let cases = [
        (None, "CertificateRequired"),
        (Some(ca.issue(&Leaf::client().expired(BOUND))), "CertificateExpired"),
        (Some(Ca::new("other CA").issue(&Leaf::client())), "UnknownCA"),
    ];
    // The alert races with our own writes: once is no proof.
    for (certificate, alert) in cases.iter().cycle().take(60) {
        let answer = attempt(certificate.clone()).await;
        assert!(matches!(&answer.end, End::Broken(text) if text.contains(alert)), "{alert}: {answer:?}");
    }
}
