//! From the start of the process to the line that says it serves.

use std::time::{Duration, Instant};

use credgate_support::process::Process;

use crate::{
    cores,
    subject::{Kind, deployment},
};

const STARTS: usize = 7;

pub fn print(count: usize) {
    println!("\n| cold start to ready, {count} nodes | median | slowest |\n|---|---|---|");
    for kind in [Kind::Csv, Kind::Sqlite, Kind::Python] {
        let deployment = deployment(kind, count, None);
        let mut times: Vec<Duration> = (0..STARTS)
            .map(|_| {
                let began = Instant::now();
                let gateway = cores::on_server(|| deployment.start());
                let time = began.elapsed();
                let process: &Process = &gateway;
                process.terminate();
                process.wait(Duration::from_secs(10));
                time
            })
            .collect();
        times.sort_unstable();
        println!("| {} | {:.0?} | {:.0?} |", kind.name(), times[STARTS / 2], times[STARTS - 1]);
    }
}
