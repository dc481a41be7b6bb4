//! The command line: one load or one attack, then what came of it, on standard output.

use std::{process::ExitCode, sync::Arc, time::Duration};

use clap::{Args, Parser, Subcommand};
use credgate_client::Arguments;
use credgate_load::{
    Arrivals, Caller, Closed, Nodes, Open, Report, arrivals,
    attack::{self, Kind, Plan},
    closed, open,
};
use std::path::PathBuf;

/// Load for a credgate gateway, with every answer verified
#[derive(Debug, Parser)]
#[command(name = "credgate-load", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// So many calls under way at any time: throughput
    Closed {
        #[command(flatten)]
        load: Load,
        /// Calls under way
        #[arg(long, value_name = "N", default_value_t = 16)]
        outstanding: usize,
        /// The most calls [default: as many as the time allows]
        #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
        calls: u64,
    },
    /// Calls at a fixed rate, latency from the moment each was meant to begin
    Open {
        #[command(flatten)]
        load: Load,
        /// Calls a second
        #[arg(long, value_name = "N")]
        rate: f64,
    },
    /// New connections at a fixed rate, one call on each
    Arrivals {
        #[command(flatten)]
        load: Load,
        /// Connections a second
        #[arg(long, value_name = "N")]
        rate: f64,
    },
    /// Misbehaves; loopback only
    Attack {
        /// How
        #[arg(value_enum)]
        kind: Kind,
        #[command(flatten)]
        gateway: Arguments,
        #[command(flatten)]
        extent: Extent,
    },
}

#[derive(Args, Debug)]
struct Load {
    #[command(flatten)]
    gateway: Arguments,
    /// CSV file of the gateway's nodes (node_id,password[,enabled])
    #[arg(long, value_name = "FILE")]
    nodes: PathBuf,
    #[command(flatten)]
    extent: Extent,
}

#[derive(Args, Clone, Copy, Debug)]
struct Extent {
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// How long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread: cheaper per call, and it leaves the other cores to the gateway.
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(run(cli.command)));
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("credgate-load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode, String> {
    let report = match command {
        Command::Closed { load, outstanding, calls } => {
            let (caller, nodes) = load.prepare()?;
            let Extent { connections, duration } = load.extent;
            closed(&caller, &nodes, Closed { connections, outstanding, calls, duration }).await?
        }
        Command::Open { load, rate } => {
            let (caller, nodes) = load.prepare()?;
            let Extent { connections, duration } = load.extent;
            open(&caller, &nodes, Open { connections, rate, duration }).await?
        }
        Command::Arrivals { load, rate } => {
            let (caller, nodes) = load.prepare()?;
            let duration = load.extent.duration;
            arrivals(&caller, &nodes, Arrivals { rate, duration, retries: 0, stay: false }).await?
        }
        Command::Attack { kind, gateway, extent: Extent { connections, duration } } => {
            let caller = Caller::prepare(&gateway.settings(), gateway.timeout)?;
            let tally = attack::attack(kind, &caller, Plan { connections, duration }).await?;
            println!("{tally} ({})", kind.unit());
            return Ok(ExitCode::SUCCESS);
        }
    };
    println!("{report}");
    Ok(verdict(&report))
}

/// Wrong answers are a failure of the gateway; refusals and cuts are for the reader to judge.
fn verdict(report: &Report) -> ExitCode {
    if report.count("WRONG") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Load {
    fn prepare(&self) -> Result<(Caller, Arc<Nodes>), String> {
        let caller = Caller::prepare(&self.gateway.settings(), self.gateway.timeout)?;
        Ok((caller, Arc::new(Nodes::read(&self.nodes)?)))
    }
}
