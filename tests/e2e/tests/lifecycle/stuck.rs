//! Work that never ends in every slot (H5b, the opposite fault): what heals by itself, and what a supervisor must do.

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::Gateway,
    scripted::{Behaviour, Script},
};

use crate::ground::{Asking, BOUND, becomes, endings, number, phase, probe, registrar};

/// A scaled gateway: work is overdue after 0.2 s and counts as stuck 0.5 s later.
fn hasty(slots: u32) -> Deployment {
    Deployment::mtls()
        .with_scripted(slots)
        .set("lookup.timeout", "200ms")
        .set("lookup.queue", 0)
        .merge("[health]\ninterval = \"100ms\"\nstuck_after = \"500ms\"\nmax_age = \"20s\"")
}

/// Fills `count` slots with work that ends when it is released.
async fn hold(client: &Client, script: &Script, count: usize) {
    script.node("1999", Behaviour::Hold).await;
    let answers = endings(client, vec!["1999"; count]).await;
    assert!(answers.iter().all(|ending| ending == "UNAVAILABLE BACKEND_TIMEOUT"), "{answers:?}");
    script.wait_for(|counts| counts.held == count, BOUND).await;
}

#[tokio::test]
async fn readiness_falls_when_every_slot_is_stuck_and_heals_when_one_returns() {
    let deployment = hasty(2);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let liveness = Asking::begin(&deployment, &gateway, "liveness").await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    watch.until(ServingStatus::Serving, BOUND).await;
    hold(&client, &script, 2).await;
    watch.until(ServingStatus::NotServing, BOUND).await;
    becomes(&gateway, "credgate_slots_overdue", 2.0).await;
    assert_eq!(client.lookup("2000").await.unwrap_err(), "RESOURCE_EXHAUSTED AT_CAPACITY");
    assert_eq!(client.check("startup").await, Ok(ServingStatus::Serving));
    script.release(1).await;
    watch.until(ServingStatus::Serving, BOUND).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    assert_eq!(number(&gateway, "credgate_slots_overdue").await, 1.0);
    liveness.end();
    assert!(gateway.is_running(), "nobody asked it to exit");
}

#[tokio::test]
async fn one_slot_that_works_is_enough() {
    let deployment = hasty(2);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    hold(&client, &script, 1).await;
    let readiness = Asking::begin(&deployment, &gateway, "readiness").await;
    // Checks are 100 ms apart: more than twice the time after which stuck work counts.
    let checks = script.counts().await.checks;
    script.wait_for(|counts| counts.checks > checks + 12, BOUND).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    readiness.end();
}

async fn stops_by_itself(gateway: &Gateway) {
    let line = gateway.log.seen(0, |line| line.says("stopping"), BOUND).await;
    assert_eq!(line.field("cause"), Some("every slot is stuck"), "{}", line.text);
}

#[tokio::test]
async fn exit_when_stuck_stops_with_75() {
    let deployment = hasty(2).set("health.exit_when_stuck", true);
    let (gateway, script) = deployment.start_scripted().await;
    let liveness = Asking::begin(&deployment, &gateway, "liveness").await;
    hold(&registrar(&deployment, &gateway).await, &script, 2).await;
    stops_by_itself(&gateway).await;
    liveness.end();
    assert_eq!(gateway.ended(BOUND).await.code, Some(75));
}

/// A supervisor restarts on failure: the exit code must not depend on what heals while the gateway goes.
#[tokio::test]
async fn exit_when_stuck_stops_with_75_even_when_slots_return_on_the_way() {
    let deployment = hasty(2).set("health.exit_when_stuck", true).set("shutdown.lame_duck", "50s");
    let (gateway, script) = deployment.start_scripted().await;
    hold(&registrar(&deployment, &gateway).await, &script, 2).await;
    stops_by_itself(&gateway).await;
    phase(&gateway, "lame_duck").await;
    script.release_all().await;
    becomes(&gateway, "credgate_slots_in_use", 0.0).await;
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(75));
}
