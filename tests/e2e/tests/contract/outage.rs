//! A backend that is known not to answer: lookups are told so at once, two at a time go on trying, the first answer ends it.

use std::time::Duration;

use credgate_client::ServingStatus::{NotServing, Serving};
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    rawh2::Request,
    scripted::{Behaviour, CheckBehaviour},
};

use crate::{
    ground::{BOUND, becomes, raw},
    row,
};

const OUTAGE: &str = "credgate_outage";

/// No check but the first and those that lookups ask for.
fn unchecked() -> Deployment {
    let deployment = Deployment::mtls().with_scripted(16).set("lookup.timeout", "50s");
    deployment.merge("[health]\ninterval = \"30m\"\ntimeout = \"5s\"\nmax_age = \"1h\"")
}

#[tokio::test]
async fn after_five_failures_in_a_row_only_trials_reach_the_backend() {
    let deployment = unchecked();
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    script.default(Behaviour::Unavailable).await;
    for _ in 0..4 {
        row::BACKEND_UNAVAILABLE.fits(&client.lookup_status("1", None).await.unwrap_err());
    }
    client.lookup("2000").await.unwrap();
    for _ in 0..4 {
        row::BACKEND_UNAVAILABLE.fits(&client.lookup_status("1", None).await.unwrap_err());
    }
    becomes(&gateway, OUTAGE, &[], 0.0).await;
    row::BACKEND_UNAVAILABLE.fits(&client.lookup_status("1", None).await.unwrap_err());
    becomes(&gateway, OUTAGE, &[], 1.0).await;
    assert_eq!(script.counts().await.started, 10);

    script.default(Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut trials = Vec::new();
    for count in 1..=2 {
        trials.push(connection.begin(Request::lookup("1").token(&deployment.registrar.token)).await);
        script.wait_for(|counts| counts.held == count, BOUND).await;
    }
    for _ in 0..10 {
        row::BACKEND_UNAVAILABLE.fits(&client.lookup_status("2000", None).await.unwrap_err());
    }
    assert_eq!(script.counts().await.started, 12, "two at a time, and nobody else");

    script.release_all().await;
    for trial in trials {
        assert_eq!(trial.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    }
    becomes(&gateway, OUTAGE, &[], 0.0).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn one_failure_after_a_failed_check_is_enough_and_readiness_returns_with_the_first_answer() {
    let deployment = unchecked();
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut watch = client.watch("readiness").await.unwrap();
    script.check(CheckBehaviour::Fail).await;
    script.default(Behaviour::Unavailable).await;
    client.lookup("1").await.unwrap_err();
    watch.until(NotServing, BOUND).await;
    becomes(&gateway, OUTAGE, &[], 0.0).await;
    client.lookup("1").await.unwrap_err();
    becomes(&gateway, OUTAGE, &[], 1.0).await;

    script.check(CheckBehaviour::Ok).await;
    script.default(Behaviour::None).await;
    assert_eq!(client.lookup("1").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND", "a trial");
    becomes(&gateway, OUTAGE, &[], 0.0).await;
    watch.until(Serving, BOUND).await;
}

#[tokio::test]
async fn callers_with_little_time_make_no_outage() {
    let deployment = unchecked();
    let (gateway, script) = deployment.start_scripted().await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    script.default(Behaviour::Hang).await;
    for _ in 0..10 {
        let status = client.lookup_status("1", Some(Duration::from_millis(20))).await.unwrap_err();
        assert!(matches!(status.code(), tonic::Code::Unavailable), "{status:?}");
    }
    becomes(&gateway, OUTAGE, &[], 0.0).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}
