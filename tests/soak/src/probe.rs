//! What one run of `credgate-probe` costs on loopback: time, memory, threads.

use std::{
    fs,
    process::{Command, Stdio},
    time::Instant,
};

use credgate_support::deployment::Deployment;

use crate::load::{ms, percentile};

const RUNS: usize = 500;

/// Runs whose memory is looked at while they last, which costs them time.
const LOOKED_AT: usize = 100;

pub fn run() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let command = || deployment.probe_command("readiness", gateway.control, &deployment.probe);
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let mut command = command();
        let began = Instant::now();
        let output = command.output().unwrap();
        times.push(began.elapsed());
        assert!(output.status.success(), "{output:?}");
    }
    let (memory, threads) =
        (0..LOOKED_AT).map(|_| look_at(command())).fold((0, 0), |most, one| (most.0.max(one.0), most.1.max(one.1)));
    let [least, median, p95] = [0, 50, 95].map(|percent| percentile(&mut times, percent));
    println!("| runs | least | median | p95 | memory, at most | threads, at most |\n|---|---|---|---|---|---|");
    println!(
        "| {RUNS} | {} | {} | {} | {:.1} MB | {threads} |",
        ms(least),
        ms(median),
        ms(p95),
        memory as f64 / 1024.0
    );
}

/// Most memory in KiB, and most threads, from `/proc` for as long as it runs.
fn look_at(mut command: Command) -> (u64, u64) {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut most = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let Ok(status) = fs::read_to_string(&path) else { continue };
        // Before exec it is a copy of this process.
        if !status.starts_with("Name:\tcredgate-probe\n") {
            continue;
        }
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        most = (number("VmHWM:").max(most.0), number("Threads:").max(most.1));
    }
    most
}
