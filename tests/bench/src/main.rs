//! How fast each provider is, beside a floor built from the same crates: medians of interleaved rounds, and ratios within
//! one run. `scripts/bench` builds and runs it.
//!
//! Servers (and their databases) run on one core, the load of this process on another. In each round every subject is asked
//! at 8 and at 64 calls under way, and then at half its own rate in an open loop. Every answer is verified.

#![expect(clippy::unwrap_used, reason = "a measuring aid that stops where something is wrong")]

mod bare;
mod cores;
mod instructions;
mod measure;
mod overload;
mod python;
mod rounds;
mod sizes;
mod start;
mod subject;
mod table;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand};
use cores::Cores;
use subject::Kind;

/// The gateway's speed beside a floor, in ratios
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Rate, latency at saturation and at half load, processor time, memory
    Table {
        /// Which [default: all]
        subjects: Vec<Kind>,
        /// Rounds; the figures are their medians
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Seconds of each load in each round
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Adds the rounds to those of this file, and prints the table of all
        #[arg(long, value_name = "FILE")]
        collect: Option<PathBuf>,
    },
    /// From the start of the process to ready
    Start,
    /// Probes of the control listener while lookups are offered at twice capacity
    Overload {
        /// Which [default: csv sqlite postgres]
        subjects: Vec<Kind>,
        /// Seconds of load
        #[arg(long, default_value_t = 20)]
        seconds: u64,
    },
    /// Instructions for a lookup, counted by callgrind
    Instructions,
    /// Time to ready and memory of the csv provider
    Sizes {
        /// Nodes [default: 100000 1000000 10000000]
        counts: Vec<usize>,
    },
}

fn main() {
    let what = Cli::parse().what;
    println!("{}\n", Cores::get());
    cores::pin_load();
    match what {
        What::Table { subjects, rounds, seconds, collect } => {
            let kinds = if subjects.is_empty() { Kind::ALL.to_vec() } else { subjects };
            let seen = rounds::run(&kinds, rounds, Duration::from_secs_f64(seconds));
            match collect {
                Some(file) => table::print(&rounds::collect(&file, &seen)),
                None => table::print(&seen),
            }
        }
        What::Start => start::print(),
        What::Overload { subjects, seconds } => {
            let kinds = if subjects.is_empty() { vec![Kind::Csv, Kind::Sqlite, Kind::Postgres] } else { subjects };
            overload::print(&kinds, Duration::from_secs(seconds));
        }
        What::Instructions => instructions::print(),
        What::Sizes { counts } => {
            sizes::print(if counts.is_empty() { &[100_000, 1_000_000, 10_000_000] } else { &counts });
        }
    }
}

/// Nodes in the store, wherever their number is not what is measured.
const NODES: usize = 100_000;
