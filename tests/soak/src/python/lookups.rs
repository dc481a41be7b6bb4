//! 100,000 lookups from 32 callers through a plain and an async plugin: all right, and what one costs beside a bare
//! Python loop over the same function and beside csv.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use credgate_support::{
    deployment::Deployment,
    process::{Gateway, Process},
};
use futures::{StreamExt as _, stream};

use super::{BOUND, block_on, registrar};

const NODES: usize = 40_000;
const LOOKUPS: usize = 100_000;
const CALLERS: usize = 32;

const PLUGIN: &str = "import csv, sys, time, asyncio
class Plain:
    def __init__(self, file):
        with open(file) as file: self.nodes = {row['node_id']: row['password'] for row in csv.DictReader(file)}
    def lookup(self, node_id):
        return self.nodes.get(node_id)
class Async(Plain):
    async def lookup(self, node_id):
        return self.nodes.get(node_id)
def create(config):
    return (Async if config['async'] else Plain)(config['file'])
async def awaited(plugin, nodes):
    for node in nodes: await plugin.lookup(node)
def bare(file, is_async, count):
    plugin = create({'file': file, 'async': is_async})
    nodes = [str(2000 + index * 7919 % len(plugin.nodes)) for index in range(count)]
    begin = time.process_time()
    if is_async: asyncio.run(awaited(plugin, nodes))
    else:
        for node in nodes: plugin.lookup(node)
    print((time.process_time() - begin) / count * 1e6)
if __name__ == '__main__':
    bare(sys.argv[1], sys.argv[2] == 'async', 1_000_000)
";

pub fn run() {
    println!("{LOOKUPS} lookups of {NODES} nodes from {CALLERS} callers, each counted for itself in one run.\n");
    println!(
        "| provider | wrong | per second | CPU per lookup | to csv | bare Python loop |\n|---|---|---|---|---|---|"
    );
    let csv = measure(&Deployment::mtls().with_nodes(NODES));
    println!("| csv | 0 | {:.0} | {:.1} µs | 1.0 | |", csv.rate, csv.cost);
    for is_async in [false, true] {
        let deployment = Deployment::mtls().with_nodes(NODES).with_python(PLUGIN).set("provider.python.workers", 32);
        let file = deployment.path("nodes.csv");
        let file = file.to_str().unwrap();
        let deployment = deployment.merge(&format!("[provider.python.config]\nfile = '{file}'\nasync = {is_async}"));
        let python = measure(&deployment);
        let mut command = Command::new("/usr/bin/python3");
        let word = if is_async { "async" } else { "plain" };
        command.arg(deployment.path("plugin.py")).args([file, word]);
        let bare: f64 = Process::run(command, BOUND).stdout.trim().parse().unwrap();
        println!(
            "| python, {word} | 0 | {:.0} | {:.1} µs | {:.1} | {bare:.2} µs, {:.0} times as much |",
            python.rate,
            python.cost,
            python.cost / csv.cost,
            python.cost / bare
        );
    }
}

struct Measured {
    /// Lookups in a second.
    rate: f64,
    /// CPU of the gateway for one, in microseconds.
    cost: f64,
}

fn measure(deployment: &Deployment) -> Measured {
    let gateway = deployment.start();
    block_on(async {
        // Warm: connections, caches, threads.
        assert_eq!(ask(deployment, &gateway, LOOKUPS / 20).await, 0, "wrong answers");
        let (cpu, began) = (gateway.usage().cpu, Instant::now());
        assert_eq!(ask(deployment, &gateway, LOOKUPS).await, 0, "wrong answers of {LOOKUPS}");
        let (cpu, time): (Duration, _) = (gateway.usage().cpu - cpu, began.elapsed());
        Measured { rate: LOOKUPS as f64 / time.as_secs_f64(), cost: cpu.as_secs_f64() * 1e6 / LOOKUPS as f64 }
    })
}

async fn ask(deployment: &Deployment, gateway: &Gateway, count: usize) -> usize {
    let client = registrar(deployment, gateway).await;
    let nodes: Vec<_> = deployment.nodes.iter().collect();
    stream::iter((0..count).map(|index| nodes[index * 7919 % nodes.len()]))
        .map(|(node, password)| {
            let client = &client;
            async move { client.lookup(node).await.as_deref() != Ok(password) }
        })
        .buffer_unordered(CALLERS)
        .filter(|wrong| std::future::ready(*wrong))
        .count()
        .await
}
