//! Who may call: every RPC of every listener, before anything else, with one text for every cause.

use std::net::SocketAddr;

use credgate_proto::LOOKUP_PATH;
use credgate_support::{
    deployment::{Deployment, Identity, Security},
    pki::Token,
    process::Gateway,
    rawh2::{Answer, Connection, Request},
    scripted::Behaviour,
};
use tonic::Code;

use crate::{
    ground::{number, raw, send},
    row,
};

fn requests() -> Vec<Request> {
    let unknown_method = "/credgate.v1.CredentialService/ListCredentials";
    vec![
        Request::lookup("2000"),
        Request::health_check("liveness"),
        Request::health_watch("readiness"),
        Request::to(unknown_method).message(b""),
        Request::to("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo").message(b""),
        Request::to("/").no_body().method("GET").without("content-type"),
        Request::lookup("no node ID").header("grpc-timeout", "garbage"),
        Request::to(LOOKUP_PATH).body(&b"\x01\xff"[..]),
        Request::lookup("2000").header("content-type", "text/plain"),
    ]
}

/// What stands in `authorization`, each refused for another reason.
fn bad_tokens(deployment: &Deployment) -> Vec<(&'static str, Vec<String>)> {
    let good = deployment.registrar.token.bearer();
    vec![
        ("no_token", vec![]),
        ("no_token", vec![good.clone(), good.clone()]),
        ("no_token", vec![good.clone(), Token::random().bearer()]),
        ("unknown_token", vec![Token::random().bearer()]),
        ("unknown_token", vec![good[..good.len() - 1].to_owned()]),
        ("unknown_token", vec![format!("{good}A")]),
        ("unknown_token", vec![good.replace("Bearer ", "Bearer  ")]),
        ("unknown_token", vec![format!("Bearer {}", deployment.registrar.token.digest())]),
        ("malformed", vec![deployment.registrar.token.expose().to_owned()]),
        ("malformed", vec![good.replace("Bearer", "Basic")]),
        ("malformed", vec!["Bearer ".to_owned()]),
        ("malformed", vec![format!("Bearer {}", "A".repeat(4000))]),
    ]
}

/// Everything a caller can see of an answer.
fn seen(answer: &Answer) -> String {
    let mut headers = answer.headers.clone();
    headers.remove("date");
    format!("{:?} {headers:?} {:?} {:?} {:?}", answer.http, answer.data, answer.trailers, answer.end)
}

fn lenient(deployment: Deployment) -> Deployment {
    deployment.set("limits.failed_authentications", 100_000).set("control.failed_authentications", 100_000)
}

async fn refused(connection: &Connection, requests: impl IntoIterator<Item = Request>) {
    let mut all = Vec::new();
    for request in requests {
        let answer = send(connection, request.clone()).await;
        row::UNAUTHENTICATED.fits(&answer.status().unwrap_or_else(|| panic!("{request:?}: {answer:?}")));
        all.push(seen(&answer));
    }
    assert!(all.iter().all(|one| *one == all[0]), "answers differ: {all:#?}");
}

async fn no_bad_token_opens(deployment: &Deployment, gateway: &Gateway) {
    for address in [gateway.lookup, gateway.control] {
        let connection = raw(deployment, address, &deployment.registrar).await;
        let mut attempts = Vec::new();
        for (_, tokens) in bad_tokens(deployment) {
            for request in requests() {
                let request = tokens.iter().fold(request, |request, token| request.also("authorization", token));
                attempts.push(request);
            }
        }
        refused(&connection, attempts).await;
    }
    for cause in ["no_token", "unknown_token", "malformed"] {
        let tokens = bad_tokens(deployment).iter().filter(|(expected, _)| *expected == cause).count();
        let attempts = f64::from(u32::try_from(2 * tokens * requests().len()).unwrap());
        assert_eq!(number(gateway, "credgate_authentication_failures_total", &[("cause", cause)]).await, attempts);
    }
    let labels = [("method", "unknown"), ("code", "UNAUTHENTICATED")];
    let unknown_methods = f64::from(u32::try_from(2 * 3 * bad_tokens(deployment).len()).unwrap());
    assert_eq!(number(gateway, "credgate_rpcs_total", &labels).await, unknown_methods);
}

#[tokio::test]
async fn no_bad_token_opens_anything_whatever_the_security() {
    for security in [Security::Mtls, Security::Token, Security::Plaintext] {
        let deployment = lenient(Deployment::new(security).with_scripted(4));
        let (gateway, script) = deployment.start_scripted().await;
        script.default(Behaviour::password("must not be seen")).await;
        no_bad_token_opens(&deployment, &gateway).await;
        assert_eq!(script.counts().await.started, 0);
        let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        assert_eq!(answer.password().as_deref(), Some(deployment.nodes.password("2000")), "{answer:?}");
    }
}

#[tokio::test]
async fn token_and_certificate_must_belong_together() {
    let mut deployment = lenient(Deployment::mtls());
    let west = deployment.add_identity("registrar-west", "registrar");
    let gateway = deployment.start();
    let crossed = async |address: SocketAddr, certificate_of: &Identity, token_of: &Identity| {
        let connection = raw(&deployment, address, certificate_of).await;
        refused(&connection, requests().into_iter().map(|request| request.token(&token_of.token))).await;
        // The connection itself is not spoilt.
        let answer = send(&connection, Request::health_check("liveness").token(&certificate_of.token)).await;
        assert_eq!(answer.ending(), "OK", "{answer:?}");
    };
    for address in [gateway.lookup, gateway.control] {
        crossed(address, &west, &deployment.registrar).await;
        crossed(address, &deployment.probe, &deployment.registrar).await;
        crossed(address, &deployment.registrar, &deployment.probe).await;
    }
    let failures = number(&gateway, "credgate_authentication_failures_total", &[("cause", "other_identity")]).await;
    assert_eq!(failures, f64::from(u32::try_from(6 * requests().len()).unwrap()));
}

#[tokio::test]
async fn who_is_known_is_told_what_is_not_there() {
    for security in [Security::Mtls, Security::Token, Security::Plaintext] {
        let deployment = Deployment::new(security);
        let gateway = deployment.start();
        for (address, identity) in [
            (gateway.lookup, &deployment.registrar),
            (gateway.control, &deployment.registrar),
            (gateway.lookup, &deployment.probe),
            (gateway.control, &deployment.probe),
        ] {
            let connection = raw(&deployment, address, identity).await;
            for path in
                ["/credgate.v1.CredentialService/ListCredentials", "/a.b.C/D", "/", "/credgate.v1.CredentialService"]
            {
                let answer = send(&connection, Request::to(path).message(b"").token(&identity.token)).await;
                row::UNIMPLEMENTED.fits(&answer.status().unwrap());
            }
            assert_eq!(send(&connection, Request::health_check("").token(&identity.token)).await.ending(), "OK");
        }
        assert_eq!(row::UNIMPLEMENTED.counted(&gateway, "unknown").await, 16.0);
    }
}

#[tokio::test]
async fn lookups_are_answered_on_their_own_listener_only() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let control = raw(&deployment, gateway.control, &deployment.registrar).await;
    let answer = send(&control, Request::lookup("2000").token(&deployment.registrar.token)).await;
    row::UNIMPLEMENTED.fits(&answer.status().unwrap());
    assert!(answer.data.is_empty());
    let control = raw(&deployment, gateway.control, &deployment.probe).await;
    let answer = send(&control, Request::lookup("2000").token(&deployment.probe.token)).await;
    assert_eq!(answer.code(), Code::PermissionDenied, "a probe may not, wherever it asks: {answer:?}");
    assert_eq!(row::UNIMPLEMENTED.counted(&gateway, "LookupCredential").await, 1.0);
}
