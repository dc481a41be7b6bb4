//! The behaviour table, printed by one run: what the caller sees, what the log says, what becomes of the slot and of the
//! process.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    plugins::{Behaviour, STUCK, TABLE},
    process::Gateway,
};
use tokio::time::{Instant, interval};

use super::{block_on, ending, registrar, slots_in_use, until_in_use};

pub fn run() {
    println!("| lookup is | behaviour | status, reason | log | slot | process |\n|---|---|---|---|---|---|");
    for (name, is_async) in [("def", false), ("async def", true)] {
        let deployment = Deployment::mtls().with_behaviours(is_async).set("lookup.timeout", "10s");
        let gateway = deployment.start();
        block_on(async {
            let client = registrar(&deployment, &gateway).await;
            for behaviour in TABLE {
                let log = told(&gateway, &client, behaviour).await;
                until_in_use(&gateway, 0).await;
                row(name, behaviour.node, behaviour.ending, &log, "returned", &gateway);
            }
        });
    }
    for (name, is_async, nodes) in [
        ("def", false, &STUCK[..]),
        ("async def", true, &[STUCK[0], STUCK[2], STUCK[3], "clings"]),
        ("async def", true, &["waits"]),
    ] {
        for node in nodes {
            let deployment = Deployment::mtls().with_behaviours(is_async).set("lookup.timeout", "500ms");
            let gateway = deployment.start();
            block_on(async {
                let client = registrar(&deployment, &gateway).await;
                let ended = ending(&client, node).await;
                let kept = *node != "waits";
                until_in_use(&gateway, usize::from(kept)).await;
                row(name, node, &ended, &last(&gateway, 0), if kept { "kept" } else { "returned" }, &gateway);
            });
        }
    }
}

fn row(lookup: &str, node: &str, ended: &str, log: &str, slot: &str, gateway: &Gateway) {
    let process = if gateway.is_running() { "alive" } else { panic!("{node} ended the process") };
    println!("| {lookup} | {node} | {ended} | {log} | {slot} | {process} |");
}

/// The log tells one line per second of each kind, so it is asked until the line of this behaviour is there.
async fn told(gateway: &Gateway, client: &Client, behaviour: &Behaviour) -> String {
    let end = Instant::now() + Duration::from_secs(30);
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        let mark = gateway.log.mark();
        let ended = ending(client, behaviour.node).await;
        assert_eq!(ended, behaviour.ending, "{}", behaviour.node);
        assert_eq!(ending(client, "returns_str").await, "OK");
        assert!(slots_in_use(gateway).await <= 1.0);
        let log = last(gateway, mark);
        if log.contains(behaviour.detail) {
            return log;
        }
        assert!(Instant::now() < end, "{}: no {:?} in the log", behaviour.node, behaviour.detail);
    }
}

/// The detail of the last failed lookup after a mark.
fn last(gateway: &Gateway, mark: usize) -> String {
    let lines = gateway.log.lines();
    let detail = lines[mark..].iter().rev().find(|line| line.says("lookup failed"));
    detail.and_then(|line| line.field("detail")).unwrap_or_default().to_owned()
}
