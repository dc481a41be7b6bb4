//! SIGTERM: what is under way gets its answer, what comes new is told to go elsewhere, whoever watches is told.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::Signal,
    rawh2::{Connection, Exchange, Request},
    scripted::Behaviour,
    wire::Target,
};
use tokio::time::timeout;

use crate::{
    deaf::deaf,
    ground::{BOUND, becomes, logged, phase, raw, send},
    row,
};

/// Slow enough that a drain which waits for the wrong thing misses every bound of these tests.
fn patient(slots: u32) -> Deployment {
    Deployment::mtls().with_scripted(slots).set("lookup.timeout", "50s").set("shutdown.drain_timeout", "50s")
}

async fn begin(connection: &Connection, deployment: &Deployment, node: &str) -> Exchange {
    connection.begin(Request::lookup(node).token(&deployment.registrar.token)).await
}

#[tokio::test]
async fn lookups_under_way_and_queued_get_their_own_answers() {
    let deployment = patient(1);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let running = begin(&connection, &deployment, "1999").await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    let queued = begin(&connection, &deployment, "2000").await;
    let unknown = begin(&connection, &deployment, "1998").await;
    becomes(&gateway, "credgate_queue", &[], 2.0).await;

    gateway.terminate();
    phase(&gateway, "draining").await;
    assert!(gateway.is_running());
    script.release_all().await;
    assert_eq!(running.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    let answer = queued.finish(BOUND).await;
    assert_eq!(answer.password().as_deref(), Some(deployment.nodes.password("2000")), "{answer:?}");
    assert_eq!(unknown.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    logged(&gateway, "stopped").await;
}

#[tokio::test]
async fn a_lookup_that_takes_a_second_is_waited_for() {
    for signal in [Signal::TERM, Signal::INT] {
        let deployment = Deployment::mtls().with_scripted(4);
        let (gateway, script) = deployment.start_scripted().await;
        script.node("1999", Behaviour::password("after a second").worked(1000)).await;
        let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
        let lookup = tokio::spawn({
            let client = client.clone();
            async move { client.lookup("1999").await }
        });
        script.wait_for(|counts| counts.running == 1, BOUND).await;
        gateway.signal(signal);
        assert_eq!(lookup.await.unwrap().as_deref(), Ok("after a second"));
        assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    }
}

#[tokio::test]
async fn new_lookups_are_told_to_go_elsewhere() {
    let deployment = patient(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = deaf(&deployment, gateway.lookup, &deployment.registrar).await;
    let running = begin(&connection, &deployment, "1999").await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    gateway.terminate();
    phase(&gateway, "draining").await;

    let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
    row::DRAINING.fits(&answer.status().unwrap());
    assert_eq!(row::DRAINING.counted(&gateway, "LookupCredential").await, 1.0);
    let mistaken = send(&connection, Request::lookup("2000")).await;
    row::UNAUTHENTICATED.fits(&mistaken.status().unwrap());
    for (name, serving) in [
        ("readiness", ServingStatus::NotServing),
        ("", ServingStatus::NotServing),
        ("liveness", ServingStatus::Serving),
        ("startup", ServingStatus::Serving),
    ] {
        let answer = send(&connection, Request::health_check(name).token(&deployment.registrar.token)).await;
        assert_eq!(answer.serving(), [serving], "{name}: {answer:?}");
    }
    let refused = Target::plain(gateway.lookup).connect_tcp().await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);

    // The control listener is still open, to new connections as well.
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    assert_eq!(probe.check("readiness").await, Ok(ServingStatus::NotServing));
    assert_eq!(probe.check("liveness").await, Ok(ServingStatus::Serving));

    script.release_all().await;
    assert_eq!(running.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}

#[tokio::test]
async fn watches_are_told_and_end_with_ok() {
    let deployment = patient(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut near = client.watch("readiness").await.unwrap();
    let mut near_liveness = client.watch("liveness").await.unwrap();
    let mut far = probe.watch("").await.unwrap();
    let mut far_liveness = probe.watch("liveness").await.unwrap();
    let mut unknown = probe.watch("no such name").await.unwrap();
    for watch in [&mut near, &mut near_liveness, &mut far, &mut far_liveness] {
        assert_eq!(watch.next(BOUND).await, Ok(Some(ServingStatus::Serving)));
    }
    assert_eq!(unknown.next(BOUND).await, Ok(Some(ServingStatus::ServiceUnknown)));
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let running = begin(&connection, &deployment, "1999").await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    gateway.terminate();

    // The lookup listener's end when admission stops; the control listener's live until the lookups are over.
    for watch in [&mut near, &mut near_liveness] {
        assert_eq!(watch.next(BOUND).await, Ok(Some(ServingStatus::NotServing)));
        assert_eq!(watch.next(BOUND).await, Ok(None));
    }
    assert_eq!(far.next(BOUND).await, Ok(Some(ServingStatus::NotServing)));
    assert_eq!(probe.check("liveness").await, Ok(ServingStatus::Serving), "nothing has ended there");
    let early = timeout(Duration::from_millis(100), far_liveness.next(BOUND)).await;
    assert!(early.is_err(), "{early:?}");
    script.release_all().await;
    assert_eq!(running.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    assert_eq!(far.next(BOUND).await, Ok(None));
    assert_eq!(far_liveness.next(BOUND).await, Ok(Some(ServingStatus::NotServing)));
    assert_eq!(far_liveness.next(BOUND).await, Ok(None));
    assert_eq!(unknown.next(BOUND).await, Ok(None));
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}

#[tokio::test]
async fn a_lame_duck_still_answers() {
    let deployment = patient(4).set("shutdown.lame_duck", "50s");
    let (gateway, _script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut watch = client.watch("readiness").await.unwrap();
    gateway.terminate();
    watch.until(ServingStatus::NotServing, BOUND).await;
    phase(&gateway, "lame_duck").await;
    let late = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    for client in [&client, &late] {
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
        assert_eq!(client.check("readiness").await, Ok(ServingStatus::NotServing));
        assert_eq!(client.check("liveness").await, Ok(ServingStatus::Serving));
    }
    becomes(&gateway, "credgate_ready", &[], 0.0).await;
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0), "nothing was cut");
}

#[tokio::test]
async fn sighup_is_ignored_and_told() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for round in 1..=2 {
        gateway.signal(Signal::HUP);
        let mark = gateway.log.mark();
        let told = |line: &credgate_support::process::Line| line.text.contains("SIGHUP ignored");
        gateway.log.seen(if round == 1 { 0 } else { mark - 1 }, told, BOUND).await;
    }
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    assert_eq!(client.check("readiness").await, Ok(ServingStatus::Serving));
    gateway.terminate();
    gateway.signal(Signal::HUP);
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}
