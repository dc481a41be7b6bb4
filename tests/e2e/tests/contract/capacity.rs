//! N lookups run, M wait in line, the next is refused at once; one slot per piece of work.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    rawh2::{Connection, Exchange, Request},
    scripted::Behaviour,
};

use crate::{
    ground::{BOUND, becomes, raw, send},
    row,
};

const LINE: &str = "credgate_queue";
const TAKEN: &str = "credgate_slots_in_use";

async fn begin(connection: &Connection, deployment: &Deployment, node: &str) -> Exchange {
    connection.begin(Request::lookup(node).token(&deployment.registrar.token)).await
}

#[tokio::test]
async fn two_run_three_wait_in_order_and_the_sixth_is_refused() {
    let deployment = Deployment::mtls().with_scripted(2).set("lookup.queue", 3).set("lookup.timeout", "30s");
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut running = Vec::new();
    for count in 1..=2 {
        running.push(begin(&connection, &deployment, &format!("100{count}")).await);
        script.wait_for(|counts| counts.held == count, BOUND).await;
    }
    let mut waiting = Vec::new();
    for count in 1..=3_u32 {
        waiting.push(begin(&connection, &deployment, &format!("400{count}")).await);
        becomes(&gateway, LINE, &[], f64::from(count)).await;
    }
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    row::AT_CAPACITY.fits(&client.lookup_status("3001", None).await.unwrap_err());
    assert_eq!(row::AT_CAPACITY.counted(&gateway, "LookupCredential").await, 1.0);
    becomes(&gateway, TAKEN, &[], 2.0).await;
    becomes(&gateway, "credgate_slots", &[], 2.0).await;
    assert_eq!(script.counts().await.started, 2);

    // First in, first out: each slot that comes free takes the one that has waited longest.
    for (node, started) in [("4001", 3), ("4002", 4), ("4003", 5)] {
        script.release(1).await;
        let counts = script.wait_for(|counts| counts.started == started, BOUND).await;
        assert_eq!(counts.by_node.get(node), Some(&1), "{counts:?}");
    }
    script.release(2).await;
    for exchange in running.into_iter().chain(waiting) {
        assert_eq!(exchange.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    }
    assert_eq!(script.counts().await.most, 2);
    becomes(&gateway, TAKEN, &[], 0.0).await;
    becomes(&gateway, LINE, &[], 0.0).await;
}

#[tokio::test]
async fn waiting_ends_at_the_deadline() {
    let deployment = Deployment::mtls().with_scripted(1).set("lookup.timeout", "10s");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let holder = begin(&connection, &deployment, "1999").await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let status = client.lookup_status("2000", Some(Duration::from_millis(300))).await.unwrap_err();
    row::AT_CAPACITY.fits(&status);
    becomes(&gateway, LINE, &[], 0.0).await;
    script.release_all().await;
    holder.finish(BOUND).await;
    assert_eq!(script.counts().await.started, 1, "who gave up is not looked up any more");
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn without_a_queue_the_next_is_refused_at_once() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.slots", 1).set("lookup.queue", 0);
    let deployment = deployment.set("lookup.timeout", "30s");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let holder = begin(&connection, &deployment, "1999").await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
    row::AT_CAPACITY.fits(&answer.status().unwrap());
    script.release_all().await;
    assert_eq!(holder.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
}

/// One connection with many calls and many connections with one each meet the same bound (G5).
#[tokio::test]
async fn the_bound_is_of_the_gateway_not_of_a_connection() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.queue", 4).set("lookup.timeout", "30s");
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::Hold).await;
    let one = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut connections = Vec::new();
    let mut exchanges = Vec::new();
    for number in 0..30 {
        exchanges.push(begin(&one, &deployment, &format!("1{number}")).await);
        let own = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        exchanges.push(begin(&own, &deployment, &format!("2{number}")).await);
        connections.push(own);
    }
    let full = |page: &credgate_support::metrics::Metrics| {
        page.sum("credgate_rpcs_total", &[("reason", "AT_CAPACITY")]) >= 52.0
    };
    credgate_support::metrics::wait_for(gateway.metrics.unwrap(), full, BOUND).await;
    becomes(&gateway, LINE, &[], 4.0).await;
    becomes(&gateway, TAKEN, &[], 4.0).await;

    // Health knows nothing of it, on either listener.
    for address in [gateway.lookup, gateway.control] {
        let probe = Client::open(&deployment, address, &deployment.probe).await;
        for name in ["readiness", "liveness", "startup"] {
            assert_eq!(probe.check(name).await, Ok(ServingStatus::Serving), "{name}");
        }
    }
    script.release(8).await;
    let mut endings = Vec::new();
    for exchange in exchanges {
        endings.push(exchange.finish(BOUND).await.ending());
    }
    let count = |wanted: &str| endings.iter().filter(|ending| *ending == wanted).count();
    assert_eq!((count("NOT_FOUND NODE_NOT_FOUND"), count("RESOURCE_EXHAUSTED AT_CAPACITY")), (8, 52), "{endings:?}");
    assert_eq!(script.counts().await.most, 4);
}
