//! Closed loop: so many calls are under way at any time; the next begins when one has ended. It measures throughput.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use crate::{Caller, Nodes, Report, line::Line};

/// How much, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Connections.
    pub connections: usize,
    /// Calls under way, over all connections.
    pub outstanding: usize,
    /// The most calls.
    pub calls: u64,
    /// The longest time.
    pub duration: Duration,
}

/// Runs until the calls are made or the time is over.
pub async fn closed(caller: &Caller, nodes: &Arc<Nodes>, plan: Closed) -> Result<Report, String> {
    let lines = Line::open(caller, plan.connections).await?;
    let left = Arc::new(AtomicU64::new(plan.calls));
    let begin = Instant::now();
    // One for all: a histogram is some 100 KB, which at the first answer of each caller would be seen in the times.
    let report = Arc::new(Mutex::new(Report::default()));
    let mut callers = JoinSet::new();
    for line in lines.iter().cycle().take(plan.outstanding) {
        let (line, nodes, left, report) = (Arc::clone(line), Arc::clone(nodes), Arc::clone(&left), Arc::clone(&report));
        callers.spawn(async move {
            let one_less = |left: u64| left.checked_sub(1);
            while begin.elapsed() < plan.duration
                && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
            {
                let sent = Instant::now();
                let ending = line.ask(nodes.random()).await;
                report.lock().unwrap_or_else(PoisonError::into_inner).record(&ending, sent.elapsed());
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.map_err(|error| error.to_string())?;
    }
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner).clone();
    report.elapsed = begin.elapsed();
    Ok(report)
}
