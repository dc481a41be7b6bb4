//! From the start of the process to the line that says it serves.

use std::time::{Duration, Instant};

use credgate_support::{deployment::Deployment, process::Gateway};

use crate::{
    NODES, cores,
    subject::{Kind, deployment},
};

const STARTS: usize = 7;

pub fn print() {
    println!("| cold start to ready, {NODES} nodes | median of {STARTS} | slowest |\n|---|---|---|");
    for kind in [Kind::Csv, Kind::Sqlite, Kind::Python] {
        let deployment = deployment(kind, NODES, None);
        let mut times: Vec<Duration> = (0..STARTS).map(|_| start(&deployment).1).collect();
        times.sort_unstable();
        println!("| {} | {:.0?} | {:.0?} |", kind.name(), times[STARTS / 2], times[STARTS - 1]);
    }
}

/// Starts a gateway on the servers' core.
pub fn start(deployment: &Deployment) -> (Gateway, Duration) {
    let began = Instant::now();
    let gateway = cores::on_server(|| deployment.start());
    (gateway, began.elapsed())
}
