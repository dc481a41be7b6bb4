//! What a gateway answers, and how the probe passes it on.

use std::convert::Infallible;

use http::Response;
use tonic::{Code, Status, body::Body};
use tonic_health::{ServingStatus, server::health_reporter};

use crate::{gateway::Gateway, pki::Pki, run::Probe};

/// A gateway that answers everything with one status.
async fn always(pki: &Pki, code: Code) -> Gateway {
    let service = tower::service_fn(move |_| async move {
        Ok::<Response<Body>, Infallible>(Status::new(code, "canary of the server's text").into_http())
    });
    Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), service).await
}

#[tokio::test]
async fn serving_and_not_serving() {
    let pki = Pki::new();
    let (mut reporter, health) = health_reporter();
    let gateway = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), health).await;
    let probe = |name: &str| {
        Probe::new(name, gateway.address)
            .with("--ca", pki.file("ca.pem"))
            .with("--token-file", pki.file("token"))
            .with("--cert", pki.file("client.pem"))
            .with("--key", pki.file("client.key"))
    };
    for name in ["startup", "liveness", "readiness"] {
        reporter.set_service_status(name, ServingStatus::Serving).await;
        let ended = probe(name).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "SERVING\n"));
    }
    reporter.set_service_status("readiness", ServingStatus::NotServing).await;
    let ended = probe("readiness").run().await;
    let wanted = format!("readiness of {}: status: NOT_SERVING\n", gateway.address);
    assert_eq!((ended.code, ended.stderr), (1, wanted));
    assert_eq!(probe("liveness").run().await.code, 0);
    reporter.set_service_status("readiness", ServingStatus::Unknown).await;
    assert_eq!(probe("readiness").failure().await, "status: UNKNOWN");
    reporter.clear_service_status("readiness").await;
    let wanted = "rpc: NOT_FOUND (the server has no health status of this name)";
    assert_eq!(probe("readiness").failure().await, wanted);
    assert_eq!(gateway.accepted(), 7);
    gateway.stop().await;
}

#[tokio::test]
async fn plaintext_and_names_of_the_host() {
    let pki = Pki::new();
    let (reporter, health) = health_reporter();
    reporter.set_service_status("readiness", ServingStatus::Serving).await;
    let plain = Gateway::start("127.0.0.1:0", None, health.clone()).await;
    let probe = Probe::new("readiness", plain.address).with("--token-file", pki.file("token")).and("--plaintext");
    assert_eq!(probe.run().await.code, 0);
    let tls = Gateway::start("127.0.0.1:0", Some(pki.server("server", false)), health).await;
    let address = format!("localhost:{}", tls.address.port());
    assert_eq!(Probe::without_certificate(&pki, address).run().await.code, 0);
}

#[tokio::test]
async fn a_wrong_token() {
    let pki = Pki::new();
    let (_reporter, health) = health_reporter();
    let gateway = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), health).await;
    let probe = Probe::new("readiness", gateway.address)
        .with("--ca", pki.file("ca.pem"))
        .with("--token-file", pki.file("wrong-token"))
        .with("--cert", pki.file("client.pem"))
        .with("--key", pki.file("client.key"));
    assert_eq!(
        probe.failure().await,
        "auth: UNAUTHENTICATED (the gateway does not accept this token, or the certificate belongs to another identity)"
    );
    gateway.drain();
}

#[tokio::test]
async fn other_statuses_come_without_the_servers_text() {
    let pki = Pki::new();
    for (code, wanted) in [
        (Code::PermissionDenied, "auth: PERMISSION_DENIED (this identity may not ask for health)"),
        (Code::Unimplemented, "rpc: UNIMPLEMENTED (the server has no health service; is it a credgate gateway?)"),
        (Code::Unavailable, "rpc: UNAVAILABLE"),
        (Code::ResourceExhausted, "rpc: RESOURCE_EXHAUSTED"),
    ] {
        let gateway = always(&pki, code).await;
        assert_eq!(Probe::complete(&pki, gateway.address).failure().await, wanted);
    }
}
