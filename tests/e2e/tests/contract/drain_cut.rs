//! The end of patience: what is cut, and exit code 75 for it.

use credgate_support::{
    deployment::Deployment,
    process::{Exit, Gateway},
    rawh2::Request,
    scripted::{Behaviour, CloseBehaviour},
};

use crate::ground::{BOUND, becomes, phase, raw, reaches, send};

fn asking(deployment: &Deployment) -> Request {
    Request::lookup("1999").token(&deployment.registrar.token)
}

/// A field of the last line, which says what was left undone.
async fn unfinished(gateway: &Gateway, field: &str) -> String {
    let line = gateway.log.seen(0, |line| line.says("stopped with work unfinished"), BOUND).await;
    line.json()[field].to_string()
}

async fn ends(gateway: &Gateway, code: i32) -> Exit {
    let exit = gateway.ended(BOUND).await;
    assert_eq!((exit.code, exit.signal), (Some(code), None), "{}", gateway.log.tail());
    exit
}

#[tokio::test]
async fn a_lookup_beyond_drain_timeout_is_cut() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "50s");
    let deployment = deployment.set("shutdown.drain_timeout", "300ms");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hang).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let exchange = connection.begin(asking(&deployment)).await;
    script.wait_for(|counts| counts.running == 1, BOUND).await;
    gateway.terminate();
    let answer = exchange.finish(BOUND).await;
    assert!(answer.status().is_none() && answer.data.is_empty(), "{answer:?}");
    ends(&gateway, 75).await;
    assert_eq!(unfinished(&gateway, "lookups_cut").await, "1");
}

#[tokio::test]
async fn a_second_signal_cuts_at_once() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "50s");
    let deployment = deployment.set("shutdown.drain_timeout", "50s");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hang).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let exchange = connection.begin(asking(&deployment)).await;
    script.wait_for(|counts| counts.running == 1, BOUND).await;
    gateway.terminate();
    phase(&gateway, "draining").await;
    gateway.terminate();
    ends(&gateway, 75).await;
    assert!(exchange.finish(BOUND).await.status().is_none());
    assert_eq!(unfinished(&gateway, "lookups_cut").await, "1");
}

#[tokio::test]
async fn work_that_is_stuck_in_a_thread_is_told() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "200ms");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(send(&connection, asking(&deployment)).await.ending(), "UNAVAILABLE BACKEND_TIMEOUT");
    becomes(&gateway, "credgate_slots_in_use", &[], 1.0).await;
    gateway.terminate();
    ends(&gateway, 75).await;
    assert_eq!(unfinished(&gateway, "lookups_cut").await, "0");
    assert_eq!(unfinished(&gateway, "work_running").await, "1");
}

#[tokio::test]
async fn a_provider_that_does_not_close_is_left_behind() {
    let deployment = Deployment::mtls().with_scripted(4).set("shutdown.close_timeout", "200ms");
    let (gateway, script) = deployment.start_scripted().await;
    script.close(CloseBehaviour::Hang).await;
    gateway.terminate();
    ends(&gateway, 75).await;
    assert_eq!(unfinished(&gateway, "provider_closed").await, "false");
    assert_eq!(unfinished(&gateway, "work_running").await, "0");
}

#[tokio::test]
async fn a_provider_that_panics_in_closing_changes_nothing() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.close(CloseBehaviour::Panic).await;
    gateway.terminate();
    ends(&gateway, 0).await;
    assert!(gateway.log.text().contains("panicked while closing"));
}

#[tokio::test]
async fn a_caller_that_leaves_during_the_drain_is_not_waited_for() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "50s");
    let deployment = deployment.set("shutdown.drain_timeout", "50s");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hang).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut exchange = connection.begin(asking(&deployment)).await;
    script.wait_for(|counts| counts.running == 1, BOUND).await;
    gateway.terminate();
    phase(&gateway, "draining").await;
    exchange.reset(credgate_support::rawh2::Reason::CANCEL);
    ends(&gateway, 0).await;
}

#[tokio::test]
async fn without_work_nothing_of_the_patience_is_used() {
    let deployment = Deployment::mtls().with_scripted(4).set("shutdown.drain_timeout", "50s");
    let deployment = deployment.set("shutdown.close_timeout", "50s");
    let (gateway, _) = deployment.start_scripted().await;
    reaches(&gateway, "credgate_ready", &[], 1.0).await;
    gateway.terminate();
    ends(&gateway, 0).await;
}
