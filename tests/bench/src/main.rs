//! How fast each provider is, beside a floor built from the same crates: medians of interleaved rounds, and ratios within
//! one run. `scripts/bench` builds and runs it.
//!
//! Servers (and their databases) run on one core, the load of this process on another. In each round every subject is asked
//! at 8 and at 64 calls under way, and then at half its own rate in an open loop. Every answer is verified.

#![expect(clippy::unwrap_used, reason = "a measuring aid that stops where something is wrong")]

mod bare;
mod cores;
mod measure;
mod python;
mod start;
mod subject;
mod table;

use std::time::Duration;

use clap::Parser;
use subject::{Kind, Subject};
use table::Row;

/// The gateway's speed beside a floor, in ratios
#[derive(Debug, Parser)]
struct Cli {
    /// Which [default: all]
    subjects: Vec<Kind>,
    /// Rounds; the figures are their medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each load in each round
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Nodes in the store
    #[arg(long, default_value_t = 100_000)]
    nodes: usize,
}

fn main() {
    let cli = Cli::parse();
    let kinds = if cli.subjects.is_empty() { Kind::ALL.to_vec() } else { cli.subjects };
    cores::pin(cores::LOAD);
    let subjects: Vec<Subject> = kinds.iter().map(|kind| Subject::start(*kind, cli.nodes)).collect();
    let mut rows: Vec<Row> = subjects.iter().map(|_| Row::default()).collect();
    let time = Duration::from_secs_f64(cli.seconds);
    for round in 0..cli.rounds {
        for (subject, row) in subjects.iter().zip(&mut rows) {
            eprintln!("round {} of {}: {}", round + 1, cli.rounds, subject.kind.name());
            row.add(measure::round(subject, time));
        }
    }
    table::print(&subjects, &rows);
    drop(subjects);
    start::print(cli.nodes);
}
