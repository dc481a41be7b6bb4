//! Names, states and listeners: readiness follows the backend, startup and liveness do not.

use std::time::Duration;

use credgate_client::ServingStatus::{NotServing, ServiceUnknown, Serving};
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics,
    process::Line,
    scripted::{Behaviour, CheckBehaviour},
};

use crate::ground::{BOUND, becomes, reaches};

const READINESS: [&str; 3] = ["", "readiness", "credgate.v1.CredentialService"];

/// Checked ten times a second; what takes longer than half a second has failed.
fn watchful() -> Deployment {
    Deployment::mtls().with_scripted(4).merge("[health]\ninterval = \"100ms\"\ntimeout = \"500ms\"\nmax_age = \"3s\"")
}

#[tokio::test]
async fn readiness_falls_with_the_backend_and_returns_by_itself() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    let near = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let far = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut watches = [near.watch("readiness").await.unwrap(), far.watch("").await.unwrap()];
    let page = gateway.metrics.unwrap();
    let delayed = CheckBehaviour::Delay { ms: 60_000 };
    for trouble in [CheckBehaviour::Fail, CheckBehaviour::Defect, CheckBehaviour::Hang, delayed, CheckBehaviour::Panic]
    {
        script.check(CheckBehaviour::Ok).await;
        for watch in &mut watches {
            watch.until(Serving, BOUND).await;
        }
        assert_eq!(metrics::get(page, "/healthz/ready").await.0, 200);
        script.check(trouble).await;
        for watch in &mut watches {
            watch.until(NotServing, BOUND).await;
        }
        for client in [&near, &far] {
            for name in READINESS {
                assert_eq!(client.check(name).await, Ok(NotServing), "{name:?}");
            }
            for name in ["startup", "liveness"] {
                assert_eq!(client.check(name).await, Ok(Serving), "{name}");
            }
        }
        assert_eq!(metrics::get(page, "/healthz/ready").await.0, 503);
        assert_eq!(metrics::get(page, "/healthz/live").await.0, 200);
        becomes(&gateway, "credgate_ready", &[], 0.0).await;
        // A failed check alone refuses no lookup.
        assert_eq!(near.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    }
    script.check(CheckBehaviour::Ok).await;
    for watch in &mut watches {
        watch.until(Serving, BOUND).await;
    }
    reaches(&gateway, "credgate_backend_checks_total", &[("result", "failed")], 5.0).await;
    let count = |message: &str| gateway.log.lines().iter().filter(|line| line.says(message)).count();
    assert!(count("backend check failed") >= 5 && count("backend check succeeds again") >= 5);
}

#[tokio::test]
async fn every_name_of_a_healthy_gateway_serves_on_both_listeners() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for (address, identity) in [
        (gateway.lookup, &deployment.registrar),
        (gateway.lookup, &deployment.probe),
        (gateway.control, &deployment.registrar),
        (gateway.control, &deployment.probe),
    ] {
        let client = Client::open(&deployment, address, identity).await;
        for name in READINESS.into_iter().chain(["startup", "liveness"]) {
            assert_eq!(client.check(name).await, Ok(Serving), "{name:?}");
            let mut watch = client.watch(name).await.unwrap();
            assert_eq!(watch.next(BOUND).await, Ok(Some(Serving)), "{name:?}");
        }
    }
}

#[tokio::test]
async fn unknown_names_are_not_found_and_a_watch_of_one_stays() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    for address in [gateway.lookup, gateway.control] {
        let client = Client::open(&deployment, address, &deployment.probe).await;
        for name in ["x", "Readiness", "readiness ", "credgate.v1", "grpc.health.v1.Health", "live\u{0}ness"] {
            assert_eq!(client.check(name).await.unwrap_err(), "NOT_FOUND", "{name:?}");
        }
        let (mut unknown, mut readiness) = (client.watch("x").await.unwrap(), client.watch("readiness").await.unwrap());
        assert_eq!(unknown.next(BOUND).await, Ok(Some(ServiceUnknown)));
        script.check(CheckBehaviour::Fail).await;
        readiness.until(NotServing, BOUND).await;
        script.check(CheckBehaviour::Ok).await;
        readiness.until(Serving, BOUND).await;
        let next = tokio::time::timeout(Duration::from_millis(100), unknown.next(BOUND)).await;
        assert!(next.is_err(), "the stream neither ends nor speaks: {next:?}");
    }
}

#[tokio::test]
async fn a_failing_lookup_asks_for_a_check_at_once() {
    let deployment = Deployment::mtls().with_scripted(4);
    let deployment = deployment.merge("[health]\ninterval = \"30m\"\ntimeout = \"5s\"\nmax_age = \"1h\"");
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut watch = client.watch("readiness").await.unwrap();
    assert_eq!(watch.next(BOUND).await, Ok(Some(Serving)));
    script.check(CheckBehaviour::Fail).await;
    script.node("1999", Behaviour::Unavailable).await;
    assert_eq!(client.lookup("1999").await.unwrap_err(), "UNAVAILABLE BACKEND_UNAVAILABLE");
    watch.until(NotServing, BOUND).await;
}

#[tokio::test]
async fn probes_are_answered_while_the_lookup_runtime_is_kept_busy() {
    let deployment = Deployment::mtls().with_scripted(64).set("lookup.timeout", "50s");
    let (gateway, script) = deployment.start_scripted().await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    // As many as there can be threads that run lookups, each on a connection of its own: the calls of one share a thread. Tokio
    // may keep the second waiting behind the first, so the test waits for work, not for both.
    let threads = std::thread::available_parallelism().unwrap().get();
    script.default(Behaviour::None.burned(4000)).await;
    let clients = (0..threads).map(|_| Client::open(&deployment, gateway.lookup, &deployment.registrar));
    let clients = futures::future::join_all(clients).await;
    let before = gateway.usage().cpu;
    let mut busy = tokio::task::JoinSet::new();
    for (node, client) in clients.into_iter().enumerate() {
        busy.spawn(async move { client.lookup(&node.to_string()).await });
    }
    while gateway.usage().cpu < before + Duration::from_millis(200) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for name in ["liveness", "readiness", "startup"] {
        assert_eq!(probe.check(name).await, Ok(Serving), "{name}");
    }
    let fresh = Client::open(&deployment, gateway.control, &deployment.probe).await;
    assert_eq!(fresh.check("liveness").await, Ok(Serving));
    assert!(busy.try_join_next().is_none(), "the answers came while lookups kept their threads");
    while let Some(answer) = busy.join_next().await {
        assert_eq!(answer.unwrap().unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
    }
}

#[tokio::test]
async fn the_log_tells_changes_only() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    script.wait_for(|counts| counts.checks > 5, BOUND).await;
    let about = |line: &Line| line.says("health") && line.field("name") == Some("liveness");
    assert_eq!(gateway.log.lines().iter().filter(|line| about(line)).count(), 1);
}
