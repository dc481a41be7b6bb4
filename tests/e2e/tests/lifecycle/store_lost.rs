//! The store goes away under load and comes back (H5, H13, H14): liveness never falls, readiness falls and returns by
//! itself, lookups are refused in milliseconds and answered again without anybody's help.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    scripted::{Behaviour, CheckBehaviour},
};
use tokio::{
    sync::watch,
    time::{Instant, interval},
};

use crate::ground::{Asking, BOUND, becomes, endings, probe, registrar};

/// 100 lookups a second until it is told to stop: when each began, how long it took, how it ended.
async fn load(client: Client, mut stop: watch::Receiver<bool>) -> Vec<(Instant, Duration, Result<String, String>)> {
    let mut ticks = interval(Duration::from_millis(10));
    let mut calls = tokio::task::JoinSet::new();
    while !*stop.borrow_and_update() {
        ticks.tick().await;
        let client = client.clone();
        calls.spawn(async move {
            let began = Instant::now();
            let answer = client.lookup("2000").await;
            (began, began.elapsed(), answer)
        });
    }
    calls.join_all().await
}

async fn lose_and_find(lookups: Behaviour, checks: CheckBehaviour) {
    let deployment = Deployment::mtls()
        .with_scripted(16)
        .set("lookup.timeout", "1s")
        .merge("[health]\ninterval = \"200ms\"\ntimeout = \"500ms\"\nmax_age = \"3s\"");
    let (gateway, script) = deployment.start_scripted().await;
    let client = registrar(&deployment, &gateway).await;
    let liveness = Asking::begin(&deployment, &gateway, "liveness").await;
    let mut readiness = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    readiness.until(ServingStatus::Serving, BOUND).await;
    let (stop, stopped) = watch::channel(false);
    let load = tokio::spawn(load(client.clone(), stopped));
    client.lookup("2000").await.unwrap();

    script.node("2000", lookups).await;
    script.check(checks).await;
    readiness.until(ServingStatus::NotServing, BOUND).await;
    becomes(&gateway, "credgate_outage", 1.0).await;
    let outage_began = Instant::now();
    // Each is refused at once, or is one of two trials.
    let answers = endings(&client, ["2000"; 100]).await;
    assert!(answers.iter().all(|ending| ending.starts_with("UNAVAILABLE BACKEND_")), "{answers:?}");
    let outage_ended = Instant::now();
    let found = deployment.nodes.password("2000");
    script.node("2000", Behaviour::password(found)).await;
    script.check(CheckBehaviour::Ok).await;
    readiness.until(ServingStatus::Serving, BOUND).await;
    becomes(&gateway, "credgate_outage", 0.0).await;
    assert_eq!(client.lookup("2000").await.unwrap(), found);
    stop.send_replace(true);
    liveness.end();

    let answers = load.await.unwrap();
    let allowed = |answer: &Result<String, String>| match answer {
        Ok(password) => password == found,
        Err(ending) => ending.starts_with("UNAVAILABLE BACKEND_") || ending == "RESOURCE_EXHAUSTED AT_CAPACITY",
    };
    let wrong: Vec<_> = answers.iter().filter(|(_, _, answer)| !allowed(answer)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let mut times: Vec<_> =
        answers.iter().filter(|(at, ..)| (outage_began..outage_ended).contains(at)).map(|(_, time, _)| *time).collect();
    times.sort_unstable();
    if let Some(median) = times.get(times.len() / 2) {
        assert!(*median < Duration::from_millis(500), "median of {} in the outage: {median:?}", times.len());
    }
}

/// H5 and H13: connections are refused.
#[tokio::test]
async fn a_store_that_is_gone() {
    lose_and_find(Behaviour::Unavailable, CheckBehaviour::Fail).await;
}

/// H14: nothing answers any more, and nothing fails.
#[tokio::test]
async fn a_store_that_is_frozen() {
    lose_and_find(Behaviour::Hang, CheckBehaviour::Hang).await;
}
