//! Rate limits: for all, for an identity, for a source. A refusal is told when to come again, and health knows nothing of it.

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::{Deployment, Identity},
    grpc::Client,
    process::Gateway,
    rawh2::{Connection, Request},
    scripted::Behaviour,
};

use crate::{
    ground::{number, send},
    row,
};

/// Buckets of twenty that hardly refill while a test runs.
fn limited(limit: &str) -> Deployment {
    Deployment::mtls().merge(&format!("[rate]\n{limit} = {{ per_second = 1, burst = 20 }}"))
}

async fn from(deployment: &Deployment, gateway: &Gateway, identity: &Identity, source: [u8; 4]) -> Connection {
    Connection::open(&deployment.target(gateway.lookup, identity).from(source)).await.unwrap()
}

/// How many of thirty lookups at once get through.
async fn admitted(connection: &Connection, identity: &Identity) -> usize {
    let calls = (0..30).map(|_| send(connection, Request::lookup("2000").token(&identity.token)));
    let endings: Vec<_> = futures::future::join_all(calls).await.iter().map(|answer| answer.ending()).collect();
    let admitted = endings.iter().filter(|ending| *ending == "OK").count();
    let refused = endings.iter().filter(|ending| *ending == "RESOURCE_EXHAUSTED RATE_LIMITED").count();
    assert_eq!(admitted + refused, 30, "{endings:?}");
    admitted
}

/// The burst, and what a busy machine lets the bucket refill meanwhile: fewer than all, and fewer than two bursts.
fn is_limited(admitted: usize) -> bool {
    (20..30).contains(&admitted)
}

#[tokio::test]
async fn a_refusal_says_when_and_changes_nothing_else() {
    let deployment = limited("global").with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::password("found")).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut refused = None;
    while refused.is_none() {
        refused = client.lookup_status("1999", None).await.err();
    }
    row::RATE_LIMITED.fits(&refused.unwrap());
    assert!(row::RATE_LIMITED.counted(&gateway, "LookupCredential").await >= 1.0);
    for name in ["readiness", "liveness", "startup", "", "credgate.v1.CredentialService"] {
        assert_eq!(client.check(name).await, Ok(ServingStatus::Serving), "{name}");
    }
    let before = script.counts().await.started;
    let mut refusals = 0;
    for _ in 0..10 {
        refusals += u64::from(client.lookup("1999").await.is_err());
    }
    assert_eq!(script.counts().await.started - before, 10 - refusals, "the provider hears of what is admitted only");
    assert!(refusals > 0);
    // A malformed request and a probe's spend no one's share and are told their own fault.
    let probe = Client::open(&deployment, gateway.lookup, &deployment.probe).await;
    row::PERMISSION_DENIED.fits(&probe.lookup_status("1999", None).await.unwrap_err());
}

#[tokio::test]
async fn the_global_limit_is_shared_by_all() {
    let mut deployment = limited("global");
    let west = deployment.add_identity("registrar-west", "registrar");
    let gateway = deployment.start();
    let east = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 1]).await;
    let far = from(&deployment, &gateway, &west, [127, 0, 0, 2]).await;
    let (one, other) = (admitted(&east, &deployment.registrar).await, admitted(&far, &west).await);
    assert!(is_limited(one) && is_limited(one + other), "{one} and {other}");
}

#[tokio::test]
async fn the_limit_of_an_identity_is_its_own_wherever_it_comes_from() {
    let mut deployment = limited("identity");
    let west = deployment.add_identity("registrar-west", "registrar");
    let gateway = deployment.start();
    let east = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 1]).await;
    let again = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 2]).await;
    let other = from(&deployment, &gateway, &west, [127, 0, 0, 1]).await;
    let first = admitted(&east, &deployment.registrar).await;
    let second = admitted(&again, &deployment.registrar).await;
    assert!(is_limited(first) && is_limited(first + second), "{first} and {second}");
    assert!(is_limited(admitted(&other, &west).await), "another identity has its own bucket");
}

#[tokio::test]
async fn the_limit_of_a_source_is_its_own_whoever_comes() {
    let mut deployment = limited("source");
    let west = deployment.add_identity("registrar-west", "registrar");
    let gateway = deployment.start();
    let east = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 1]).await;
    let neighbour = from(&deployment, &gateway, &west, [127, 0, 0, 1]).await;
    let far = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 2]).await;
    let first = admitted(&east, &deployment.registrar).await;
    let second = admitted(&neighbour, &west).await;
    assert!(is_limited(first) && is_limited(first + second), "{first} and {second}");
    assert!(is_limited(admitted(&far, &deployment.registrar).await), "another source has its own bucket");
}

#[tokio::test]
async fn a_shadow_refuses_nobody_and_counts() {
    let deployment = limited("global").set("rate.shadow", true);
    let gateway = deployment.start();
    let east = from(&deployment, &gateway, &deployment.registrar, [127, 0, 0, 1]).await;
    assert_eq!(admitted(&east, &deployment.registrar).await, 30);
    let over = number(&gateway, "credgate_rate_limit_exceeded_total", &[("mode", "shadow")]).await;
    assert!((1.0..=10.0).contains(&over), "{over}");
    assert_eq!(row::RATE_LIMITED.counted(&gateway, "LookupCredential").await, 0.0);
}
