//! Lookups through the gateway beside a bare loop of the same prepared statement, with as many connections, in one run;
//! how long an import takes, and what is left of one that is killed.
//!
//! `SOAK_ONLY=sqlite` or `SOAK_ONLY='postgres 100000'` runs those rows alone that begin so.

mod bare;
mod store;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use credgate_support::{
    deployment::{Deployment, Nodes},
    grpc::Client,
    process::{Process, processor_time},
};
use futures::{StreamExt as _, stream};
use tokio::runtime::Runtime;

use store::Store;

const NODES: [usize; 2] = [100_000, 1_000_000];
const CONNECTIONS: usize = 16;
const LOOKUPS: usize = 50_000;
/// An import of this many is killed in the middle, at these parts of the time that a whole one took.
const KILLED: usize = 1_000_000;
const PARTS: [f64; 3] = [0.3, 0.6, 0.9];
const BOUND: Duration = Duration::from_secs(600);

pub fn run() {
    println!("{LOOKUPS} lookups, {CONNECTIONS} outstanding, {CONNECTIONS} connections; CPU per lookup\n");
    println!(
        "| database | nodes | import | p50 | p99 | CPU: gateway | server | bare loop p50 | p99 | CPU: loop | server | p50, \
         gateway to bare |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut killed = Vec::new();
    for name in Store::NAMES {
        for count in NODES {
            if super::faults::is_wanted(name, &count.to_string()) {
                let store = Store::start(name);
                let deployment = store.deployment(count, CONNECTIONS);
                store.run(&deployment, &["migrate".as_ref()], BOUND);
                let import = import(&store, &deployment, "nodes.csv", &[]);
                println!("{}", row(&runtime, &store, &deployment, count, import));
                if count == KILLED {
                    killed.push(kill(&store, deployment, import));
                }
            }
        }
    }
    println!(
        "\n| database | an import of {KILLED} other nodes with --replace, killed | nodes of it in the table afterwards |\n|---|---|---|"
    );
    killed.iter().for_each(|row| println!("{row}"));
}

fn row(runtime: &Runtime, store: &Store, deployment: &Deployment, count: usize, import: Duration) -> String {
    let gateway = deployment.start();
    let (own, server) = (gateway.usage().cpu, store.processor_time());
    let (p50, p99) = runtime.block_on(through(deployment, gateway.lookup));
    let (own, server) = (gateway.usage().cpu - own, store.processor_time() - server);
    drop(gateway);
    let me = std::process::id();
    let (bare_own, bare_server) = (processor_time(me), store.processor_time());
    let ((bare_p50, bare_p99), pool) = runtime.block_on(bare::lookups(store, deployment, CONNECTIONS));
    let (bare_own, bare_server) = (processor_time(me) - bare_own, store.processor_time() - bare_server);
    runtime.block_on(async { drop(pool) });
    let each = |time: Duration| format!("{} µs", time.as_micros() / u128::try_from(LOOKUPS).unwrap());
    let of_server = |time: Duration| if store.is_server() { each(time) } else { "the same".to_owned() };
    format!(
        "| {} | {count} | {:.1} s | {} µs | {} µs | {} | {} | {} µs | {} µs | {} | {} | {:.1} |",
        store.name(),
        import.as_secs_f64(),
        p50.as_micros(),
        p99.as_micros(),
        each(own),
        of_server(server),
        bare_p50.as_micros(),
        bare_p99.as_micros(),
        each(bare_own),
        of_server(bare_server),
        p50.as_secs_f64() / bare_p50.as_secs_f64(),
    )
}

/// Imports a file of the deployment's; how long that took.
fn import(store: &Store, deployment: &Deployment, file: &str, more: &[&str]) -> Duration {
    let file = deployment.path(file);
    let mut args = vec!["import".as_ref(), file.as_os_str()];
    args.extend(more.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
    let began = Instant::now();
    store.run(deployment, &args, BOUND);
    began.elapsed()
}

/// Kills an import that changes every row; a whole one then proves that nothing was left that hinders it.
fn kill(store: &Store, deployment: Deployment, whole: Duration) -> String {
    let others = Nodes::seeded(Nodes::SEED + 1, KILLED);
    let deployment = deployment.with_file("others.csv", others.csv());
    let sample = others.password("2000").to_owned();
    let file = deployment.path("others.csv");
    let mut found = Vec::new();
    for part in PARTS {
        let args = ["import".as_ref(), file.as_os_str(), "--replace".as_ref()];
        let process = Process::start(store.command(&deployment, &args));
        let after = whole.mul_f64(part);
        super::faults::last(after);
        let state = if process.is_running() { "killed" } else { "had ended" };
        drop(process);
        let (all, changed) = store.count(&deployment, &sample);
        assert_eq!(all, KILLED, "rows in the table");
        found.push(format!("{state} after {:.1} s: {changed}", after.as_secs_f64()));
    }
    let time = import(store, &deployment, "others.csv", &["--replace"]);
    assert_eq!(store.count(&deployment, &sample), (KILLED, 1));
    format!(
        "| {} | at {PARTS:?} of {:.1} s | {}; then a whole one, {:.1} s |",
        store.name(),
        whole.as_secs_f64(),
        found.join(", "),
        time.as_secs_f64()
    )
}

/// Median and 99th of a hundred, every answer right.
async fn through(deployment: &Deployment, address: SocketAddr) -> (Duration, Duration) {
    let client = Client::open(deployment, address, &deployment.registrar).await;
    measured(deployment, |node| {
        let client = &client;
        async move { client.lookup(node).await.unwrap() }
    })
    .await
}

async fn measured<'a, F>(deployment: &'a Deployment, ask: impl Fn(&'a str) -> F) -> (Duration, Duration)
where
    F: Future<Output = String>,
{
    let nodes: Vec<_> = deployment.nodes.iter().collect();
    // A stride that has no divisor in common with the counts.
    let asked = (0..LOOKUPS).map(|index| nodes[index * 7919 % nodes.len()]);
    let mut times: Vec<Duration> = stream::iter(asked)
        .map(|(node, password)| {
            let answer = ask(node);
            async move {
                let began = Instant::now();
                assert_eq!(answer.await, password, "node {node}");
                began.elapsed()
            }
        })
        .buffer_unordered(CONNECTIONS)
        .collect()
        .await;
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
