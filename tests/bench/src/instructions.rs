//! Instructions for one lookup, counted by callgrind: where seconds are too noisy to tell two builds apart, these are not.
//!
//! A server's start and end are in both of two runs, so that the difference is that of their lookups alone.

use std::{fs, path::Path, process::Command, sync::Arc, time::Duration};

use credgate_load::{Closed, closed};
use credgate_support::process::Process;

use crate::{
    measure::{CONNECTIONS, MANY},
    subject::{Kind, Server, Subject},
};

/// Lookups of the two runs.
const CALLS: [u32; 2] = [5_000, 25_000];

/// Few, since their loading is counted as well.
const NODES: usize = 1000;

/// Under callgrind everything takes some fifty times as long.
const BOUND: Duration = Duration::from_secs(120);

pub fn print() {
    println!("| instructions for a lookup | count | to floor |\n|---|---|---|");
    let floor = each(Kind::Floor);
    for (kind, count) in [(Kind::Floor, floor), (Kind::Csv, each(Kind::Csv))] {
        println!("| {} | {count:.0} | {:.2} |", kind.name(), count / floor);
    }
}

fn each(kind: Kind) -> f64 {
    let [few, many] = CALLS.map(|calls| count(kind, calls));
    (many - few) / f64::from(CALLS[1] - CALLS[0])
}

/// All instructions of a server's life with so many lookups.
fn count(kind: Kind, calls: u32) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let counts = dir.path().join("callgrind.out");
    let subject = Subject::start_as(kind, NODES, |command| under_callgrind(&command, &counts));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plan = Closed { connections: CONNECTIONS, outstanding: MANY, calls: calls.into(), duration: BOUND };
    let caller = subject.caller().with_timeout(BOUND);
    let report = runtime.block_on(closed(&caller, &Arc::clone(&subject.nodes), plan)).unwrap();
    assert_eq!(report.right(), u64::from(calls), "{}: {report:?}", kind.name());
    end(&subject);
    let text = fs::read_to_string(&counts).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.trim().parse().unwrap()
}

fn under_callgrind(command: &Command, counts: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--log-file=/dev/null"]);
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    valgrind.arg(command.get_program()).args(command.get_args());
    valgrind
}

fn end(subject: &Subject) {
    let process: &Process = match &subject.server {
        Server::Floor(process, _) => process,
        Server::Gateway(gateway) => gateway,
        Server::Bare(_) => unreachable!("a bare statement is no process"),
    };
    process.terminate();
    process.wait(BOUND);
}
