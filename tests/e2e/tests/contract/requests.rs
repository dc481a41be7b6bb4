//! Requests that no client library sends: each ends as INVALID_REQUEST, and the provider hears nothing of it.

use bytes::Bytes;
use credgate_proto::{LOOKUP_PATH, LookupCredentialRequest};
use credgate_support::{
    deployment::Deployment,
    rawh2::{Request, framed},
    scripted::Behaviour,
};
use prost::Message;

use crate::{
    ground::{raw, send},
    row,
};

fn body(bytes: impl Into<Bytes>) -> Request {
    Request::to(LOOKUP_PATH).body(bytes)
}

fn question(node: &str) -> Vec<u8> {
    LookupCredentialRequest { node_id: node.into() }.encode_to_vec()
}

fn malformed() -> Vec<(&'static str, Request)> {
    let good = question("2000");
    let two = [framed(0, good.len(), &good), framed(0, good.len(), &good)].concat();
    let long = question(&"1".repeat(1100));
    let endless = (0..64).map(|_| Bytes::from(vec![0; 16 * 1024]));
    vec![
        ("no message", Request::to(LOOKUP_PATH).no_body()),
        ("an empty DATA frame", body("")),
        ("a truncated prefix", body(&b"\0\0\0"[..])),
        ("a prefix and no message", body(framed(0, good.len(), b""))),
        ("less than declared", body(framed(0, good.len() + 1, &good))),
        ("more than declared", body(framed(0, good.len() - 1, &good))),
        ("two messages", body(two)),
        ("a message and a bit", Request::to(LOOKUP_PATH).message(&good).trailing(b"\0")),
        ("the compressed flag", body(framed(1, good.len(), &good))),
        ("an unknown flag", body(framed(2, good.len(), &good))),
        ("oversized as declared", body(framed(0, 4_000_000, &good))),
        ("the largest declaration", body(framed(0, 0xffff_ffff, &good))),
        ("oversized as sent", Request::to(LOOKUP_PATH).message(&long)),
        ("a megabyte without an end", Request::to(LOOKUP_PATH).pieces(endless).no_end()),
        ("a field cut short", Request::to(LOOKUP_PATH).message(b"\x0a\x05ab")),
        ("a node ID that is no UTF-8", Request::to(LOOKUP_PATH).message(b"\x0a\x02\xc3\x28")),
        ("a number for a node ID", Request::to(LOOKUP_PATH).message(b"\x08\xd0\x0f")),
        ("a tag of field 0", Request::to(LOOKUP_PATH).message(b"\x02\x01a")),
        ("JSON", Request::to(LOOKUP_PATH).message(br#"{"nodeId":"2000"}"#)),
        ("another content-type", Request::lookup("2000").header("content-type", "application/json")),
        ("gRPC-Web", Request::lookup("2000").header("content-type", "application/grpc-web")),
        ("no content-type", Request::lookup("2000").without("content-type")),
        ("GET", Request::to(LOOKUP_PATH).no_body().method("GET")),
        ("PUT", Request::lookup("2000").method("PUT")),
    ]
}

#[tokio::test]
async fn a_malformed_request_is_the_callers_mistake() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::password("must not be seen")).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let cases = malformed();
    for (name, request) in &cases {
        let answer = send(&connection, request.clone().token(&deployment.registrar.token)).await;
        let status = answer.status().unwrap_or_else(|| panic!("{name}: {answer:?}"));
        assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{name}: {answer:?}");
        row::INVALID_REQUEST.fits(&status);
        assert_eq!(answer.http.unwrap(), 200, "{name}: {answer:?}");
        assert!(answer.data.is_empty(), "{name}: {answer:?}");
    }
    assert_eq!(
        row::INVALID_REQUEST.counted(&gateway, "LookupCredential").await,
        f64::from(u32::try_from(cases.len()).unwrap())
    );
    assert_eq!(script.counts().await.started, 0);
    let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
    assert_eq!(answer.ending(), "OK", "the same connection goes on: {answer:?}");
}

#[tokio::test]
async fn whatever_is_a_request_is_answered() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let future_field = [question("2000"), b"\x7a\x03new".to_vec()].concat();
    let split_field = [question("1999"), question("2000")].concat();
    for (name, request) in [
        ("one byte per DATA frame", Request::lookup("2000").split(1)),
        ("a field of a later version", Request::to(LOOKUP_PATH).message(&future_field)),
        ("a field given twice: the last one counts", Request::to(LOOKUP_PATH).message(&split_field)),
        ("a named codec", Request::lookup("2000").header("content-type", "application/grpc+proto")),
        ("a parameter", Request::lookup("2000").header("content-type", "application/grpc;charset=utf-8")),
        ("no te header", Request::lookup("2000").without("te")),
        ("metadata of the caller's own", Request::lookup("2000").header("x-request-id", "1").header("a-bin", "AAAA")),
        ("a lower-case scheme", Request::lookup("2000")),
    ] {
        let token = deployment.registrar.token.bearer();
        let token = if name.starts_with("a lower") { token.replacen("Bearer", "bearer", 1) } else { token };
        let answer = send(&connection, request.header("authorization", token)).await;
        assert_eq!(answer.ending(), "OK", "{name}: {answer:?}");
        assert_eq!(answer.password().as_deref(), Some(deployment.nodes.password("2000")), "{name}");
        assert_eq!(answer.headers["content-type"], "application/grpc", "{name}");
    }
}

#[tokio::test]
async fn malformed_health_requests_are_the_callers_mistake_too() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for address in [gateway.lookup, gateway.control] {
        let connection = raw(&deployment, address, &deployment.probe).await;
        for path in ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"] {
            for (name, request) in [
                ("no message", Request::to(path).no_body()),
                ("a truncated prefix", Request::to(path).body(&b"\0\0\0"[..])),
                ("less than declared", Request::to(path).body(framed(0, 9, b"\x0a\x01x"))),
                ("the compressed flag", Request::to(path).body(framed(1, 3, b"\x0a\x01x"))),
                ("an unknown flag", Request::to(path).body(framed(7, 3, b"\x0a\x01x"))),
                ("oversized", Request::to(path).message(&vec![0x61; 5000])),
                ("undecodable", Request::to(path).message(b"\x0a\x05ab")),
                ("no UTF-8", Request::to(path).message(b"\x0a\x02\xc3\x28")),
                ("a garbled grpc-timeout", Request::to(path).message(b"").header("grpc-timeout", "soon")),
                ("JSON", Request::to(path).message(b"").header("content-type", "application/json")),
                ("GET", Request::to(path).no_body().method("GET")),
            ] {
                let answer = send(&connection, request.token(&deployment.probe.token)).await;
                assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{path}, {name}: {answer:?}");
            }
        }
    }
}
