//! What the csv provider needs for a network of a size: time to ready, and resident memory beyond that of a gateway with one
//! node.

use std::time::Duration;

use crate::{
    start::start,
    subject::{Kind, deployment},
};

/// Starts of which the median counts.
const STARTS: usize = 5;

pub fn print(counts: &[usize]) {
    let empty = start(&deployment(Kind::Csv, 1, None)).0.usage().memory;
    println!("| csv, nodes | file | ready (median of {STARTS}) | resident | bytes a node |\n|---|---|---|---|---|");
    for count in counts {
        let deployment = deployment(Kind::Csv, *count, None);
        let file = deployment.path("nodes.csv").metadata().unwrap().len();
        let mut starts: Vec<(Duration, u64)> = (0..STARTS)
            .map(|_| {
                let (gateway, time) = start(&deployment);
                (time, gateway.usage().memory)
            })
            .collect();
        starts.sort_unstable();
        let (time, memory) = starts[STARTS / 2];
        let each = memory.saturating_sub(empty) as f64 / *count as f64;
        println!("| {count} | {} MB | {} ms | {} MB | {each:.0} |", mb(file), time.as_millis(), mb(memory));
    }
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}
