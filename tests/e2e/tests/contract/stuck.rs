//! Every slot held by work that never ends: readiness says so, and heals with the first slot that returns.

use credgate_client::ServingStatus::{NotServing, Serving};
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    scripted::{Behaviour, Script},
};

use crate::ground::{BOUND, becomes};

fn impatient() -> Deployment {
    Deployment::mtls().with_scripted(2).set("lookup.timeout", "100ms").set("health.stuck_after", "200ms")
}

async fn hold_every_slot(client: &Client, script: &Script) {
    script.default(Behaviour::Hold).await;
    for held in [1, 2] {
        assert_eq!(client.lookup("1").await.unwrap_err(), "UNAVAILABLE BACKEND_TIMEOUT");
        script.wait_for(|counts| counts.held == held, BOUND).await;
    }
}

#[tokio::test]
async fn readiness_falls_while_every_slot_is_stuck() {
    let deployment = impatient();
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut watch = probe.watch("readiness").await.unwrap();
    hold_every_slot(&client, &script).await;
    watch.until(NotServing, BOUND).await;
    becomes(&gateway, "credgate_slots_overdue", &[], 2.0).await;
    assert_eq!(probe.check("liveness").await, Ok(Serving));
    assert_eq!(client.lookup("2000").await.unwrap_err(), "RESOURCE_EXHAUSTED AT_CAPACITY");
    script.release(1).await;
    watch.until(Serving, BOUND).await;
    becomes(&gateway, "credgate_slots_overdue", &[], 1.0).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn a_stuck_gateway_ends_by_itself_when_told_to() {
    let deployment = impatient().set("health.exit_when_stuck", true);
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    hold_every_slot(&client, &script).await;
    assert_eq!(gateway.ended(BOUND).await.code, Some(75), "{}", gateway.log.tail());
}
