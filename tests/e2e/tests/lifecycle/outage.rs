//! Flat latency in an outage: when it begins, what it lets through, what ends it.

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    scripted::{Behaviour, CheckBehaviour, Script},
};
use futures::future::join_all;

use crate::ground::{BOUND, becomes, endings, number, probe, registrar, said};

pub const BEGIN: &str = "backend does not answer: lookups are refused at once, but for trials";
pub const END: &str = "backend answers again: outage over";
pub const REFUSED: &str = "UNAVAILABLE BACKEND_UNAVAILABLE";

/// Nobody times out here, and checks come when lookups ask for them.
fn patient(slots: u32) -> Deployment {
    let deployment = Deployment::mtls().with_scripted(slots).set("lookup.timeout", "50s");
    deployment.merge("[health]\ninterval = \"30m\"\ntimeout = \"50s\"\nmax_age = \"1h\"")
}

async fn fail_at(script: &Script, node: &str) {
    script.node(node, Behaviour::Unavailable).await;
}

#[tokio::test]
async fn five_failures_in_a_row_refuse_at_once_and_the_first_answer_ends_it() {
    let deployment = patient(16);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    fail_at(&script, "1999").await;
    for round in 0..2 {
        for _ in 0..4 {
            assert_eq!(client.lookup("1999").await.unwrap_err(), REFUSED);
        }
        assert_eq!(number(&gateway, "credgate_outage").await, 0.0, "four are too few, round {round}");
        // An answer breaks the row.
        client.lookup("2000").await.unwrap();
    }
    for _ in 0..5 {
        assert_eq!(client.lookup("1999").await.unwrap_err(), REFUSED);
    }
    assert_eq!(number(&gateway, "credgate_outage").await, 1.0);

    // Two trials that do not end: everybody else is refused, and the provider is not asked.
    script.node("1998", Behaviour::Hold).await;
    let trials =
        [client.clone(), client.clone()].map(|client| tokio::spawn(async move { client.lookup("1998").await }));
    let before = script.wait_for(|counts| counts.held == 2, BOUND).await;
    for _ in 0..50 {
        assert_eq!(client.lookup("2000").await.unwrap_err(), REFUSED);
    }
    assert!(endings(&client, ["2000"; 50]).await.iter().all(|ending| ending == REFUSED));
    assert_eq!(script.counts().await.started, before.started);
    assert_eq!((said(&gateway, BEGIN), said(&gateway, END)), (1, 0));

    script.release(1).await;
    becomes(&gateway, "credgate_outage", 0.0).await;
    for _ in 0..5 {
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    }
    script.release(1).await;
    let answers = join_all(trials).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().unwrap_err() == "NOT_FOUND NODE_NOT_FOUND"));
    assert_eq!((said(&gateway, BEGIN), said(&gateway, END)), (1, 1));
}

#[tokio::test]
async fn two_at_a_time_go_on_trying() {
    let deployment = patient(16);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    script.node("1999", Behaviour::Unavailable.worked(20)).await;
    for _ in 0..5 {
        assert_eq!(client.lookup("1999").await.unwrap_err(), REFUSED);
    }
    let before = script.counts().await.started;
    // Refusals come at once, so one round of 200 takes about as long as one trial.
    let tried = async {
        while script.counts().await.started < before + 10 {
            assert!(endings(&client, ["1999"; 200]).await.iter().all(|ending| ending == REFUSED));
        }
    };
    tokio::time::timeout(BOUND, tried).await.unwrap();
    assert_eq!(script.counts().await.most, 2, "never more than two at a time");
    script.forget("1999").await;
    let healed = async { while client.lookup("2000").await.is_err() {} };
    tokio::time::timeout(BOUND, healed).await.unwrap();
    becomes(&gateway, "credgate_outage", 0.0).await;
}

#[tokio::test]
async fn one_failure_is_enough_after_a_failed_check() {
    let deployment = Deployment::mtls().with_scripted(4).merge("[health]\ninterval = \"100ms\"\nmax_age = \"5s\"");
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    script.check(CheckBehaviour::Fail).await;
    watch.until(ServingStatus::NotServing, BOUND).await;
    client.lookup("2000").await.unwrap();
    assert_eq!(number(&gateway, "credgate_outage").await, 0.0);
    fail_at(&script, "1999").await;
    assert_eq!(client.lookup("1999").await.unwrap_err(), REFUSED);
    assert_eq!(number(&gateway, "credgate_outage").await, 1.0);
    // The next one is a trial, and answered.
    client.lookup("2000").await.unwrap();
    assert_eq!(number(&gateway, "credgate_outage").await, 0.0);
}

#[tokio::test]
async fn the_end_of_an_outage_asks_for_a_check_at_once() {
    let deployment = patient(4);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let mut watch = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    script.check(CheckBehaviour::Fail).await;
    fail_at(&script, "1999").await;
    for _ in 0..5 {
        assert_eq!(client.lookup("1999").await.unwrap_err(), REFUSED);
    }
    watch.until(ServingStatus::NotServing, BOUND).await;
    script.check(CheckBehaviour::Ok).await;
    client.lookup("2000").await.unwrap();
    // The next periodic check is half an hour away.
    watch.until(ServingStatus::Serving, BOUND).await;
}

#[tokio::test]
async fn lookups_that_wait_for_a_slot_when_it_begins_are_refused_too() {
    let deployment = patient(4);
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    script.default(Behaviour::Unavailable.worked(300)).await;
    assert!(endings(&client, ["1999"; 60]).await.iter().all(|ending| ending == REFUSED));
    // Two rounds of four until five have failed, the rest of the second round, and trials.
    let started = script.counts().await.started;
    assert!((5..=16).contains(&started), "{started}");
}
