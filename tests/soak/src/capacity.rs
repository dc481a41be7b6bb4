//! Room that is told as it is: slots, the queue and the refusals beyond it; calls that are given up; a crowd; and probes
//! while everything is full at once.

use std::{sync::Arc, time::Duration};

use credgate_load::{
    Arrivals, Caller, Closed, Nodes, Open, Report, arrivals,
    attack::{Kind, Plan, attack},
    closed, open,
};
use credgate_support::{
    deployment::Deployment,
    metrics,
    process::Gateway,
    rawh2::{Connection, Reason, Request},
    scripted::{Behaviour, Script},
};
use futures::future::join_all;
use tokio::{
    task::spawn_blocking,
    time::{Instant, interval},
};

use crate::load::{self, BOUND, Busy, beside, ms, percentile};

const SLOTS: u32 = 32;
const QUEUE: u64 = 64;
const AT_CAPACITY: &str = "RESOURCE_EXHAUSTED AT_CAPACITY";

pub fn run() {
    load::run(async {
        println!("500 calls at once, {SLOTS} slots of a provider that takes 1 s, a queue of {QUEUE}:\n");
        println!(
            "| connections | answered | refused | refusals p50 | p99 | of them in the gateway for at most 5 ms | most at a time |\n|---|---|---|---|---|---|---|"
        );
        for connections in [1, 500] {
            at_once(connections).await;
        }
        println!();
        refusals().await;
        println!();
        given_up().await;
        println!();
        many_calls().await;
        println!();
        crowd().await;
        println!();
        everything_full().await;
    });
}

/// A gateway whose node 1999 takes so long.
async fn slow(deployment: Deployment, slots: u32, work: u64) -> (Deployment, Gateway, Script) {
    let deployment = deployment.with_scripted(slots);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::password("found").worked(work)).await;
    (deployment, gateway, script)
}

fn slow_node() -> Arc<Nodes> {
    Arc::new(Nodes::some([("1999", Some("found"))]))
}

fn registrar(deployment: &Deployment, gateway: &Gateway) -> Caller {
    Caller::of(deployment, gateway.lookup, &deployment.registrar)
}

/// G5.
async fn at_once(connections: usize) {
    let deployment = Deployment::mtls()
        .set("lookup.queue", i64::try_from(QUEUE).unwrap())
        .set("lookup.timeout", "20s")
        .set("limits.streams_per_connection", 500);
    let (deployment, gateway, script) = slow(deployment, SLOTS, 1000).await;
    let caller = registrar(&deployment, &gateway).with_timeout(BOUND);
    // The connections are open, and have carried nothing yet.
    let plan = Closed { connections, outstanding: 500, calls: 500, duration: BOUND };
    let report = beside(async move { closed(&caller, &slow_node(), plan).await.unwrap() }).ended().await;
    let most = script.counts().await.most;
    let (p50, p99) = (report.percentile(AT_CAPACITY, 50.0), report.percentile(AT_CAPACITY, 99.0));
    let (right, refused) = (report.right(), report.count(AT_CAPACITY));
    // The client's own part of 500 calls at once is in its times, and not in the gateway's.
    let page = metrics::scrape(gateway.metrics.unwrap()).await;
    let labels = [("reason", "AT_CAPACITY"), ("le", "0.005")];
    let soon = page.value("credgate_lookup_seconds_bucket", &labels).unwrap_or_default();
    println!("| {connections} | {right} | {refused} | {} | {} | {soon} | {most} |", ms(p50), ms(p99));
    assert_eq!(most, usize::try_from(SLOTS).unwrap(), "so many ran at a time");
    // Whoever comes while a slot comes free may still get in.
    assert!(right >= u64::from(SLOTS) + QUEUE && right + refused == 500, "{report:?}");
    assert!(right <= 2 * (u64::from(SLOTS) + QUEUE), "{report:?}");
}

/// The same full gateway for a while, with calls at a fixed rate: how long a refusal takes by itself.
async fn refusals() {
    let deployment = Deployment::mtls().set("lookup.queue", i64::try_from(QUEUE).unwrap()).set("lookup.timeout", "20s");
    let (deployment, gateway, script) = slow(deployment, SLOTS, 20_000).await;
    let caller = registrar(&deployment, &gateway).with_timeout(BOUND);
    let full = usize::try_from(u64::from(SLOTS) + QUEUE).unwrap();
    let plan = Closed { connections: 1, outstanding: full, calls: u64::MAX, duration: Duration::from_secs(8) };
    let holders = beside({
        let caller = caller.clone();
        async move { closed(&caller, &slow_node(), plan).await.unwrap() }
    });
    script.wait_for(|counts| counts.running == usize::try_from(SLOTS).unwrap(), BOUND).await;
    let queue_full = |page: &metrics::Metrics| page.sum("credgate_queue", &[]) >= QUEUE as f64;
    metrics::wait_for(gateway.metrics.unwrap(), queue_full, BOUND).await;
    let plan = Open { connections: 4, rate: 1000.0, duration: Duration::from_secs(5) };
    let report = beside(async move { open(&caller, &slow_node(), plan).await.unwrap() }).ended().await;
    let (p50, p99) = (report.percentile(AT_CAPACITY, 50.0), report.percentile(AT_CAPACITY, 99.0));
    println!("Refusals at 1,000 calls a second beside it: {}, p50 {}, p99 {}.", report.calls(), ms(p50), ms(p99));
    assert_eq!(report.count(AT_CAPACITY), report.calls(), "{report:?}");
    drop(gateway);
    holders.ended().await;
}

/// G3: 10,000 calls that are sent and reset, each of which starts work of five seconds where it finds a slot.
async fn given_up() {
    let (deployment, gateway, script) = slow(Deployment::mtls(), SLOTS, 5000).await;
    let target = deployment.target(gateway.lookup, &deployment.registrar);
    let connections = join_all((0..20).map(|_| Connection::open(&target))).await;
    let began = Instant::now();
    let callers = connections.into_iter().map(|connection| {
        let token = &deployment.registrar.token;
        let request = Request::lookup("1999").token(token);
        async move {
            let connection = connection.unwrap();
            for call in 0..500 {
                let mut exchange = connection.begin(request.clone()).await;
                // Every other one has time to arrive.
                if call % 2 == 1 {
                    exchange.messages(1, Duration::from_millis(1)).await;
                }
                exchange.reset(Reason::CANCEL);
            }
            connection.send(Request::health_check("").token(token), BOUND).await.ending()
        }
    });
    let endings = join_all(callers).await;
    let (time, counts) = (began.elapsed(), script.counts().await);
    println!(
        "10,000 calls sent and reset in {:.1} s, {SLOTS} slots of 5 s: at most {} at a time, {} started.",
        time.as_secs_f64(),
        counts.most,
        counts.started
    );
    assert!(endings.iter().all(|ending| ending == "OK"), "a connection was cut: {endings:?}");
    assert!(counts.most <= usize::try_from(SLOTS).unwrap() && counts.started > 0, "{counts:?}");
}

/// h2 counts small frames that nobody reads; an honest registrar's single connection must not fall under it.
async fn many_calls() {
    let deployment = Deployment::mtls().with_nodes(40_000);
    let gateway = deployment.start();
    let (caller, nodes) = (registrar(&deployment, &gateway), Arc::new(Nodes::of(&deployment.nodes)));
    let before = gateway.usage().memory;
    let plan = Closed { connections: 1, outstanding: 5000, calls: 1_000_000, duration: Duration::from_secs(120) };
    let report = beside(async move { closed(&caller.with_timeout(BOUND), &nodes, plan).await.unwrap() }).ended().await;
    let grown = gateway.usage().memory.saturating_sub(before) >> 20;
    println!(
        "{} calls on one connection, 5,000 always ready: {:.0} a second, {} right, memory +{grown} MB.",
        report.calls(),
        report.calls() as f64 / report.elapsed.as_secs_f64(),
        report.right(),
    );
    assert_eq!(report.right(), 1_000_000, "{report:?}");
}

/// G9: everybody comes back within a second.
async fn crowd() {
    let deployment = Deployment::mtls()
        .set("limits.connections", 6000)
        .set("limits.connections_per_source", 6000)
        .set("limits.handshake_timeout", "20s");
    let gateway = deployment.start();
    let (caller, nodes) = (registrar(&deployment, &gateway), Arc::new(Nodes::of(&deployment.nodes)));
    let plan = Arrivals { rate: 5000.0, duration: Duration::from_secs(1), retries: 100, stay: true };
    let crowd = beside(async move { arrivals(&caller, &nodes, plan).await.unwrap() });
    let end = Instant::now() + Duration::from_secs(5);
    let probes = credgate_load::probes(&deployment, gateway.control, 10.0, end).await.unwrap();
    let report: Report = crowd.ended().await;
    let time = |percent| ms(report.percentile("right", percent));
    println!(
        "{} clients within a second at a fresh process: all in after {:.1} s; time to the first answer p50 {}, p99 {}; \
         {} of {} probes, p99 {}.",
        report.calls(),
        report.elapsed.as_secs_f64(),
        time(50.0),
        time(99.0),
        probes.right(),
        probes.calls(),
        ms(probes.percentile("right", 99.0)),
    );
    assert!(report.calls() >= 5000 && report.right() == report.calls(), "{report:?}");
    assert_eq!(probes.right(), probes.calls(), "{probes:?}");
}

/// Slots, connections, handshakes and processor at the same time.
async fn everything_full() {
    let (deployment, gateway, script) = slow(Deployment::mtls(), 16, 10_000).await;
    let time = Duration::from_secs(15);
    let caller = registrar(&deployment, &gateway);
    let lookups = Closed { connections: 4, outstanding: 1000, calls: u64::MAX, duration: time };
    let mut full = vec![beside({
        let caller = caller.clone();
        async move { drop(closed(&caller, &slow_node(), lookups).await.unwrap()) }
    })];
    for (kind, connections) in [(Kind::Silence, 1500), (Kind::SlowHandshakes, 600), (Kind::Churn, 4)] {
        let caller = caller.clone();
        full.push(beside(
            async move { drop(attack(kind, &caller, Plan { connections, duration: time }).await.unwrap()) },
        ));
    }
    script.wait_for(|counts| counts.running == 16, BOUND).await;
    let busy = Busy::begin();
    let (mut ticks, mut times, mut good) = (interval(Duration::from_millis(100)), Vec::new(), 0);
    let end = Instant::now() + time - Duration::from_secs(3);
    while Instant::now() < end {
        ticks.tick().await;
        let mut command = deployment.probe_command("liveness", gateway.control, &deployment.probe);
        command.args(["--timeout", "1s"]);
        let (output, time) = spawn_blocking(move || {
            let began = std::time::Instant::now();
            (command.output().unwrap(), began.elapsed())
        })
        .await
        .unwrap();
        good += usize::from(output.status.success());
        if !output.status.success() {
            println!("a probe failed: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        times.push(time);
    }
    drop(busy);
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    println!(
        "Slots, connections, handshakes and both cores full: {good} of {} runs of credgate-probe within 1 s, p50 {}, p99 {}.",
        times.len(),
        ms(p50),
        ms(p99)
    );
    assert_eq!(good, times.len(), "probes failed while lookups were saturated");
    for one in full {
        one.ended().await;
    }
}
