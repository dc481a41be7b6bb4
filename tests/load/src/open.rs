//! Open loop: calls begin at a fixed rate, whether or not earlier ones have ended, as those of many independent nodes do.
//!
//! A latency counts from the moment at which its call was meant to begin. A gateway that stands still for a second is
//! charged for every call of that second (no coordinated omission).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use crate::{Caller, Nodes, Pacer, Report, line::Line};

/// How much, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Connections.
    pub connections: usize,
    /// Calls a second, over all connections.
    pub rate: f64,
    /// How long calls begin.
    pub duration: Duration,
}

/// Runs for the time, then waits for what is under way.
pub async fn open(caller: &Caller, nodes: &Arc<Nodes>, plan: Open) -> Result<Report, String> {
    let lines = Line::open(caller, plan.connections).await?;
    let pacer = Pacer::new(plan.rate).map_err(|error| format!("pacer: {error}"))?;
    run(&lines, nodes, plan.duration, pacer).await
}

/// The same by [`Pacer::spinning`]: for a load that has its core for itself.
pub async fn open_spinning(caller: &Caller, nodes: &Arc<Nodes>, plan: Open) -> Result<Report, String> {
    let lines = Line::open(caller, plan.connections).await?;
    run(&lines, nodes, plan.duration, Pacer::spinning(plan.rate)).await
}

async fn run(lines: &[Arc<Line>], nodes: &Arc<Nodes>, duration: Duration, mut pacer: Pacer) -> Result<Report, String> {
    let report = Arc::new(Mutex::new(Report::default()));
    let mut calls = JoinSet::new();
    let begin = Instant::now();
    for line in lines.iter().cycle() {
        let due = pacer.next().await;
        if due.duration_since(begin) >= duration {
            break;
        }
        let (line, nodes, report) = (Arc::clone(line), Arc::clone(nodes), Arc::clone(&report));
        calls.spawn(async move {
            let late = due.elapsed();
            let ending = line.ask(nodes.random()).await;
            let time = due.elapsed();
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.began(late);
            // What ends later are stragglers, and of no typical time.
            let end = due.duration_since(begin) + time;
            if end < duration {
                report.ended_in_time(end, time);
            }
            report.record(&ending, time);
        });
        // What has ended is let go, so that a long run does not keep it.
        while calls.try_join_next().is_some() {}
    }
    while let Some(call) = calls.join_next().await {
        call.map_err(|error| error.to_string())?;
    }
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner).clone();
    report.elapsed = begin.elapsed();
    Ok(report)
}
