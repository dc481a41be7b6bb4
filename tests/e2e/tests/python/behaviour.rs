//! The behaviour table: what a plugin returns, raises and does, and what callers and the log are told of it.

use std::time::Duration;

use credgate_support::{
    canary::Canary,
    deployment::Deployment,
    grpc::Client,
    plugins::{Behaviour, PASSWORD, TABLE},
    process::Gateway,
};
use tokio::time::{Instant, interval};

use crate::ground::{BOUND, becomes, ending, registrar, stopped};

#[tokio::test]
async fn every_behaviour_of_a_plain_function_has_its_ending_and_its_reason() {
    let deployment = Deployment::mtls().with_behaviours(false).set("lookup.timeout", "30s");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for behaviour in TABLE {
        told(&gateway, &client, behaviour).await;
    }
    quiet_and_whole(&gateway, &client).await;
}

#[tokio::test]
async fn every_behaviour_of_an_async_function_has_the_same_ending() {
    let deployment = Deployment::mtls().with_behaviours(true).set("lookup.timeout", "30s");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for behaviour in TABLE {
        assert_eq!(ending(&client, behaviour.node).await, behaviour.ending, "{}", behaviour.node);
        assert_eq!(ending(&client, "returns_str").await, "OK", "after {}", behaviour.node);
    }
    quiet_and_whole(&gateway, &client).await;
}

/// The log tells one line per second of each kind, so it is asked until the line is there.
async fn told(gateway: &Gateway, client: &Client, behaviour: &Behaviour) {
    let end = Instant::now() + BOUND;
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        let mark = gateway.log.mark();
        assert_eq!(ending(client, behaviour.node).await, behaviour.ending, "{}", behaviour.node);
        assert_eq!(ending(client, "returns_str").await, "OK", "after {}", behaviour.node);
        let told = gateway.log.lines()[mark..].iter().any(|line| {
            line.says("lookup failed") && line.field("detail").is_some_and(|text| text.contains(behaviour.detail))
        });
        if behaviour.detail.is_empty() || told {
            return;
        }
        assert!(Instant::now() < end, "{}: no {:?}; {}", behaviour.node, behaviour.detail, gateway.log.tail());
    }
}

/// No slot is lost, no password is shown, and it ends as if nothing had happened.
async fn quiet_and_whole(gateway: &Gateway, client: &Client) {
    assert_eq!(client.lookup("returns_str").await.unwrap(), PASSWORD);
    assert_eq!(client.lookup("returns_str_subclass").await.unwrap(), PASSWORD);
    becomes(gateway, "credgate_slots_in_use", 0.0).await;
    let log = stopped(gateway, 0).await;
    Canary::new([PASSWORD]).absent_from("the log", &log);
    Canary::new([PASSWORD]).absent_from("standard output", &gateway.stdout.whole(BOUND));
}
