//! What a table of a given size costs: `cargo run --release -p credgate-csv --example size -- 1000000`.
//!
//! Writes a file of that many nodes, loads it as the gateway would, and prints time, memory and lookups per second.

use std::{error::Error, fs, hint::black_box, io::Write, path::Path, time::Instant};

use credgate_csv::{Dialect, Rules, Table};
use credgate_provider::{NodeIdRule, Report};

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: u64 = std::env::args().nth(1).as_deref().unwrap_or("40000").parse()?;
    let file = tempfile::NamedTempFile::new()?;
    let mut writer = std::io::BufWriter::new(&file);
    writeln!(writer, "node_id,password,enabled")?;
    for node in 0..nodes {
        writeln!(writer, "{},password-{node:016x},1", 1_000_000_000 + node)?;
    }
    drop(writer);

    let start = Instant::now();
    let table = load(file.path())?;
    println!("{} nodes from {} bytes in {:?}", table.len(), file.path().metadata()?.len(), start.elapsed());
    println!("memory: {}", memory()?);

    let start = Instant::now();
    let lookups = 1_000_000;
    for turn in 0..lookups {
        // Steps through the table in an order that caches cannot foresee.
        let node = 1_000_000_000 + turn * 7_919_777 % nodes;
        black_box(table.find(&NodeIdRule::default().parse(&node.to_string())?)?.ok_or("not found")?);
    }
    println!("{:?} per lookup", start.elapsed() / u32::try_from(lookups)?);
    Ok(())
}

fn load(path: &Path) -> Result<Table, String> {
    let report = Report::default();
    let table = credgate_csv::read(path, "size", &Dialect::default(), Rules::default(), &report);
    table.ok_or_else(|| format!("{:?}", report.problems()))
}

fn memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    Ok(lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", "))
}
