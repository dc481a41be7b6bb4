//! Client certificates: checked in the handshake, and their end again on every call.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    pki::{Ca, Leaf, Purpose},
    rawh2::{End, Request},
};
use tokio::time::{interval, timeout};

use crate::ground::{BOUND, number, raw, reaches, send};

#[tokio::test]
async fn a_connection_does_not_outlive_its_certificate() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let san = deployment.registrar.san.clone().unwrap();
    let leaf = Leaf::client().dns(&san).expires_in(Duration::from_secs(6));
    let short = deployment.registrar.with_certificate(Some(deployment.ca.issue(&leaf)));

    let connection = raw(&deployment, gateway.lookup, &short).await;
    let client = Client::open(&deployment, gateway.lookup, &short).await;
    let mut watch = client.watch("readiness").await.unwrap();
    assert_eq!(watch.next(BOUND).await, Ok(Some(ServingStatus::Serving)));
    let lookup = || Request::lookup("2000").token(&short.token);
    assert_eq!(send(&connection, lookup()).await.ending(), "OK");
    let mut ticks = interval(Duration::from_millis(50));
    let expiry = async {
        loop {
            ticks.tick().await;
            match send(&connection, lookup()).await.ending().as_str() {
                "OK" => {}
                ending => return ending.to_owned(),
            }
        }
    };
    assert_eq!(timeout(BOUND, expiry).await.unwrap(), "UNAUTHENTICATED");
    let check = Request::health_check("liveness").token(&short.token);
    assert_eq!(send(&connection, check).await.ending(), "UNAUTHENTICATED", "health too");
    assert_eq!(watch.next(BOUND).await, Ok(None), "a Watch ends, with OK");
    assert!(
        number(&gateway, "credgate_authentication_failures_total", &[("cause", "certificate_expired")]).await >= 2.0
    );

    // Certificates count whole seconds, so the handshake may still pass for a moment.
    let refused = async {
        loop {
            ticks.tick().await;
            let answer = send(&raw(&deployment, gateway.lookup, &short).await, lookup()).await;
            match &answer.end {
                End::Broken(text) if text.contains("CertificateExpired") => return,
                _ => assert_eq!(answer.ending(), "UNAUTHENTICATED", "{answer:?}"),
            }
        }
    };
    timeout(BOUND, refused).await.unwrap();
}

#[tokio::test]
async fn a_certificate_that_will_not_do_is_refused_with_its_cause() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let san = deployment.registrar.san.clone().unwrap();
    let good = || Leaf::client().dns(&san);
    let bad = [
        ("expired", deployment.ca.issue(&good().expired(Duration::from_secs(3600)))),
        ("not yet valid", deployment.ca.issue(&good().not_yet_valid(Duration::from_secs(3600)))),
        ("of another CA", Ca::new("credgate test CA").issue(&good())),
        ("for servers only", deployment.ca.issue(&good().purposes([Purpose::Server]))),
    ];
    for address in [gateway.lookup, gateway.control] {
        for (name, certificate) in &bad {
            let identity = deployment.registrar.with_certificate(Some(certificate.clone()));
            let connection = raw(&deployment, address, &identity).await;
            let answer = send(&connection, Request::lookup("2000").token(&identity.token)).await;
            assert!(matches!(answer.end, End::Broken(_)) && answer.http.is_none(), "{name}: {answer:?}");
        }
        let connection = raw(&deployment, address, &deployment.registrar.with_certificate(None)).await;
        let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        assert!(matches!(&answer.end, End::Broken(text) if text.contains("CertificateRequired")), "{answer:?}");
    }
    for listener in ["lookup", "control"] {
        let failed = |cause| [("listener", listener), ("cause", cause)];
        for cause in
            ["certificate_expired", "certificate_not_yet_valid", "certificate_of_another_ca", "certificate_purpose"]
        {
            reaches(&gateway, "credgate_connections_failed_total", &failed(cause), 1.0).await;
        }
        reaches(&gateway, "credgate_connections_failed_total", &failed("no_certificate"), 1.0).await;
    }
}

#[tokio::test]
async fn names_are_compared_exactly() {
    let deployment = Deployment::mtls()
        .set("identity.0.san", vec!["registrar-east.example.net", "spiffe://example.net/registrar/east"]);
    let gateway = deployment.start();
    let asked = async |leaf: Leaf| {
        let identity = deployment.registrar.with_certificate(Some(deployment.ca.issue(&leaf)));
        let connection = raw(&deployment, gateway.lookup, &identity).await;
        send(&connection, Request::lookup("2000").token(&identity.token)).await.ending()
    };
    for leaf in [
        Leaf::client().dns("registrar-east.example.net"),
        Leaf::client().dns("other.example.net").dns("registrar-east.example.net"),
        Leaf::client().uri("spiffe://example.net/registrar/east"),
    ] {
        assert_eq!(asked(leaf.clone()).await, "OK", "{leaf:?}");
    }
    for leaf in [
        Leaf::client().dns("*.example.net"),
        Leaf::client().dns("registrar-east.example.net.evil.example"),
        Leaf::client().dns("x.registrar-east.example.net"),
        Leaf::client().dns("probe.example.net"),
        Leaf::client().uri("registrar-east.example.net"),
        Leaf::client().uri("spiffe://example.net/registrar/east/"),
        Leaf::client().common_name("registrar-east.example.net"),
        Leaf::client().ip([127, 0, 0, 1]),
    ] {
        assert_eq!(asked(leaf.clone()).await, "UNAUTHENTICATED", "{leaf:?}");
    }
}
