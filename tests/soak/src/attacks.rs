//! Each attack against one gateway, while honest clients of the same address go on: none of them may notice more than
//! that the machine is busy, and nothing of the attack may stay behind.
//!
//! Honest are 500 lookups a second on a kept connection, a new connection each second, a registrar that gives up on 50 calls
//! a second, and a probe ten times a second with a second of time. The attackers run on the same cores, as fast as they can.

mod honest;

use std::time::Duration;

use credgate_load::{
    Report,
    attack::{Kind, Plan, attack},
};
use credgate_support::{
    deployment::Deployment,
    metrics,
    process::{Gateway, Usage},
};
use tokio::time::{interval, sleep};

use crate::load::{self, BOUND, beside, ms};
use honest::Seen;

/// Each with connections enough to fill the table it is about, or both cores.
const ATTACKS: [(Kind, usize); 14] = [
    (Kind::Silence, 1500),
    (Kind::SlowHandshakes, 600),
    (Kind::HalfHandshakes, 600),
    (Kind::NoCertificate, 8),
    (Kind::Mute, 1500),
    (Kind::Churn, 8),
    (Kind::BadTokens, 8),
    (Kind::Resets, 8),
    (Kind::HeaderBombs, 8),
    (Kind::Continuations, 8),
    (Kind::BigMessages, 8),
    (Kind::Pings, 8),
    (Kind::Settings, 8),
    (Kind::HalfCalls, 16),
];

/// Of each attack.
const TIME: Duration = Duration::from_secs(8);

/// What a second round of all attacks may keep beyond the first: an allocator has no exact bottom, and a leak has no end.
const FLAT: u64 = 8 << 20;

pub fn run() {
    load::run(async {
        let deployment = Deployment::mtls().with_nodes(10_000);
        let gateway = deployment.start();
        println!(
            "| attack | honest lookups | p50 | p99 | new connections | slowest | cancels | probes | p99 | CPU | memory before, most, after | descriptors | attackers |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
        // The first round warms everything up; the second is what the others are compared with.
        for round in 0..2 {
            let seen = honest::go_on(&deployment, &gateway, TIME).await;
            if round == 1 {
                row("none", &gateway, seen, Watched::begin(&gateway), "");
            }
        }
        let mut kept = Vec::new();
        for _ in 0..2 {
            for (kind, connections) in ATTACKS {
                under(&deployment, &gateway, kind, connections).await;
            }
            kept.push(gateway.usage().memory);
        }
        let [first, second] = [kept[0], kept[1]].map(|bytes| bytes >> 20);
        println!("\nMemory after all attacks: {first} MB; after all of them again: {second} MB.");
        assert!(kept[1] < kept[0] + FLAT, "attacks leave memory behind: {first} MB, then {second} MB");
    });
}

async fn under(deployment: &Deployment, gateway: &Gateway, kind: Kind, connections: usize) {
    let caller = honest::caller(deployment, gateway);
    let plan = Plan { connections, duration: TIME };
    let mut watched = Watched::begin(gateway);
    let attackers = beside(async move { attack(kind, &caller, plan).await.unwrap() });
    let seen = {
        let mut ticks = interval(Duration::from_millis(100));
        let honest = honest::go_on(deployment, gateway, TIME);
        tokio::pin!(honest);
        loop {
            tokio::select! {
                seen = &mut honest => break seen,
                _ = ticks.tick() => watched.look(gateway),
            }
        }
    };
    let tally = attackers.ended().await;
    assert!(!tally.ends.keys().any(|end| end.starts_with("ANSWERED")), "{kind:?}: somebody came in: {tally}");
    let gone = |page: &metrics::Metrics| page.sum("credgate_connections", &[]) == 0.0;
    metrics::wait_for(gateway.metrics.unwrap(), gone, BOUND).await;
    // What is closed is closed; the descriptors of this very look take a moment.
    let settled = async {
        while gateway.usage().descriptors > watched.before.descriptors {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let settled = tokio::time::timeout(BOUND, settled).await;
    assert!(settled.is_ok(), "{kind:?}: descriptors are kept: {:?}, then {:?}", watched.before, gateway.usage());
    row(&format!("{kind:?}, {connections}"), gateway, seen, watched, &tally.to_string());
}

fn row(name: &str, gateway: &Gateway, seen: Seen, watched: Watched, attackers: &str) {
    let after = gateway.usage();
    let [before, most, now] = [watched.before.memory, watched.memory, after.memory].map(|bytes| bytes >> 20);
    let right = |report: &Report| format!("{} of {}", report.right(), report.calls());
    let time = |report: &Report, percent| ms(report.percentile("right", percent));
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} s | {before}, {most}, {now} MB | {}, {}, {} | {attackers} |",
        right(&seen.lookups),
        time(&seen.lookups, 50.0),
        time(&seen.lookups, 99.0),
        right(&seen.arrivals),
        time(&seen.arrivals, 100.0),
        seen.cancels,
        right(&seen.probes),
        time(&seen.probes, 99.0),
        (after.cpu - watched.before.cpu).as_secs_f64(),
        watched.before.descriptors,
        watched.descriptors,
        after.descriptors,
    );
    for (what, report) in [("lookups", &seen.lookups), ("new connections", &seen.arrivals), ("probes", &seen.probes)] {
        assert_eq!(report.right(), report.calls(), "{name}: honest {what}: {}", report.others());
    }
    assert!(seen.still_open, "{name}: the connection of a registrar that gives up 50 times a second was cut");
}

/// What the gateway uses: before, and the most since.
struct Watched {
    before: Usage,
    memory: u64,
    descriptors: usize,
}

impl Watched {
    fn begin(gateway: &Gateway) -> Self {
        let before = gateway.usage();
        Self { before, memory: before.memory, descriptors: before.descriptors }
    }

    fn look(&mut self, gateway: &Gateway) {
        let now = gateway.usage();
        self.memory = self.memory.max(now.memory);
        self.descriptors = self.descriptors.max(now.descriptors);
    }
}
