//! Time to ready and resident memory of each store at 40,000 and 1,000,000 nodes.

use std::time::{Duration, Instant};

use credgate_support::{deployment::Deployment, grpc::Client, process::Gateway};
use futures::{StreamExt as _, stream};

use crate::deployments::{Store, deployment};

/// A medium network, and the largest we plan for.
const NODES: [usize; 2] = [40_000, 1_000_000];

/// Starts of which the median counts.
const STARTS: usize = 5;

/// Random lookups after which memory is looked at again.
const LOOKUPS: usize = 20_000;

const OUTSTANDING: usize = 64;

pub fn run() {
    println!("| store | nodes | import | ready (median of {STARTS}) | resident at ready | after {LOOKUPS} lookups |");
    println!("|---|---|---|---|---|---|");
    for store in Store::ALL {
        for count in NODES {
            let (deployment, import) = deployment(store, count);
            let ready = median((0..STARTS).map(|_| start(&deployment).1).collect());
            let (gateway, _) = start(&deployment);
            let at_ready = gateway.usage().memory;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(look_up(&deployment, &gateway));
            let import = import.map_or("".into(), |time| format!("{:.1} s", time.as_secs_f64()));
            let (name, ready, later) = (store.name(), ready.as_millis(), gateway.usage().memory);
            println!("| {name} | {count} | {import} | {ready} ms | {} MB | {} MB |", at_ready >> 20, later >> 20);
        }
    }
}

fn start(deployment: &Deployment) -> (Gateway, Duration) {
    let began = Instant::now();
    let gateway = deployment.start();
    (gateway, began.elapsed())
}

async fn look_up(deployment: &Deployment, gateway: &Gateway) {
    let client = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
    let nodes: Vec<_> = deployment.nodes.iter().collect();
    // A stride that has no divisor in common with the counts: spread over the whole table, every node at most once.
    let asked = (0..LOOKUPS).map(|index| nodes[index * 7919 % nodes.len()]);
    let wrong = stream::iter(asked)
        .map(|(node, password)| {
            let client = &client;
            async move { client.lookup(node).await.as_deref() != Ok(password) }
        })
        .buffer_unordered(OUTSTANDING)
        .filter(|wrong| std::future::ready(*wrong))
        .count()
        .await;
    assert_eq!(wrong, 0, "wrong answers of {LOOKUPS}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
