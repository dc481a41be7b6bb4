//! What must not cause an outage: the counter-examples of the rule.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    process::Gateway,
    rawh2::{Connection, Request},
    scripted::{Behaviour, CheckBehaviour},
};

use crate::{
    ground::{BOUND, becomes, endings, number, probe, registrar, said},
    outage::BEGIN,
};

const LATE: &str = "UNAVAILABLE BACKEND_TIMEOUT";

fn watchful() -> Deployment {
    Deployment::mtls().with_scripted(8).merge("[health]\ninterval = \"100ms\"\ntimeout = \"500ms\"\nmax_age = \"5s\"")
}

async fn assert_none(gateway: &Gateway) {
    assert_eq!((number(gateway, "credgate_outage").await, said(gateway, BEGIN)), (0.0, 0));
}

/// How lookups end that the gateway is given 30 ms for.
async fn hurried(deployment: &Deployment, gateway: &Gateway, count: usize) -> Vec<String> {
    let target = deployment.target(gateway.lookup, &deployment.registrar);
    let connection = Connection::open(&target).await.unwrap();
    let mut endings = Vec::new();
    for _ in 0..count {
        let request = Request::lookup("1999").token(&deployment.registrar.token).header("grpc-timeout", "30m");
        endings.push(connection.send(request, BOUND).await.ending());
    }
    endings
}

#[tokio::test]
async fn a_failing_check_with_healthy_lookups_refuses_nobody() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    for trouble in [CheckBehaviour::Fail, CheckBehaviour::Defect, CheckBehaviour::Hang, CheckBehaviour::Panic] {
        script.check(trouble).await;
        watch.until(ServingStatus::NotServing, BOUND).await;
        assert!(endings(&client, ["2000"; 50]).await.iter().all(|ending| ending == "OK"));
        assert_none(&gateway).await;
        script.check(CheckBehaviour::Ok).await;
        watch.until(ServingStatus::Serving, BOUND).await;
    }
}

#[tokio::test]
async fn a_slow_check_is_no_trouble_at_all() {
    let deployment = watchful().merge("[health]\ntimeout = \"20s\"\nmax_age = \"30s\"");
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    watch.until(ServingStatus::Serving, BOUND).await;
    script.check(CheckBehaviour::Delay { ms: 300 }).await;
    let checks = script.counts().await.checks;
    while script.counts().await.checks < checks + 5 {
        assert!(endings(&client, ["2000"; 20]).await.iter().all(|ending| ending == "OK"));
    }
    assert_none(&gateway).await;
    let told = tokio::time::timeout(Duration::from_millis(50), watch.next(BOUND)).await;
    assert!(told.is_err(), "readiness has changed: {told:?}");
}

#[tokio::test]
async fn one_registrar_with_tiny_timeouts_harms_itself_alone() {
    let deployment = watchful().set("lookup.timeout", "20s");
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    // By a deadline that the provider keeps, and by one that it does not.
    for slow in [Behaviour::None.delayed(60_000), Behaviour::Hang] {
        script.node("1999", slow).await;
        assert_eq!(hurried(&deployment, &gateway, 10).await, vec![LATE; 10]);
        assert_none(&gateway).await;
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    }
    // Not even beside a failing check, where one real failure would be enough.
    script.check(CheckBehaviour::Fail).await;
    watch.until(ServingStatus::NotServing, BOUND).await;
    assert_eq!(hurried(&deployment, &gateway, 10).await, vec![LATE; 10]);
    assert_none(&gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn a_backend_that_is_late_by_our_own_bound_is_an_outage_after_all() {
    let deployment = watchful().set("lookup.timeout", "150ms");
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    script.node("1999", Behaviour::Hang).await;
    for round in 1..=5 {
        // A client that would wait longer changes nothing.
        let answer = match round % 2 {
            0 => client.lookup_within("1999", BOUND).await,
            _ => client.lookup("1999").await,
        };
        assert_eq!(answer.unwrap_err(), LATE, "round {round}");
    }
    becomes(&gateway, "credgate_outage", 1.0).await;
}

#[tokio::test]
async fn bad_records_defects_and_unknown_nodes_are_no_outage() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    for behaviour in [Behaviour::Corrupt, Behaviour::Defect, Behaviour::Panic, Behaviour::None] {
        script.node("1999", behaviour).await;
        for _ in 0..6 {
            client.lookup("1999").await.unwrap_err();
        }
        assert_none(&gateway).await;
    }
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}
