//! New connections at a fixed rate: each connects, shakes hands in full and asks once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::{Caller, Ending, Link, Nodes, Pacer, Report};

/// How many, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// New connections a second.
    pub rate: f64,
    /// How long connections begin.
    pub duration: Duration,
    /// How often one that found no way in comes again, 100 ms later; its time goes on.
    pub retries: usize,
    /// Whether each stays open to the end of the run.
    pub stay: bool,
}

/// Runs for the time. A latency counts from the moment at which the connection was meant to begin to its answer.
pub async fn arrivals(caller: &Caller, nodes: &Arc<Nodes>, plan: Arrivals) -> Result<Report, String> {
    let caller = caller.clone().without_resumption();
    let report = Arc::new(Mutex::new(Report::default()));
    let mut guests = JoinSet::new();
    let mut pacer = Pacer::new(plan.rate).map_err(|error| format!("pacer: {error}"))?;
    let begin = Instant::now();
    loop {
        let due = pacer.next().await;
        if due.duration_since(begin) >= plan.duration {
            break;
        }
        let (caller, nodes, report) = (caller.clone(), Arc::clone(nodes), Arc::clone(&report));
        guests.spawn(async move {
            let (mut ending, mut link) = visit(&caller, &nodes).await;
            for _ in 0..plan.retries {
                if !matches!(ending, Ending::Cut(_)) {
                    break;
                }
                tokio::time::sleep(AGAIN).await;
                (ending, link) = visit(&caller, &nodes).await;
            }
            report.lock().unwrap_or_else(PoisonError::into_inner).record(&ending, due.elapsed());
            link.filter(|_| plan.stay)
        });
    }
    let mut staying = Vec::new();
    while let Some(guest) = guests.join_next().await {
        staying.extend(guest.map_err(|error| error.to_string())?);
    }
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner).clone();
    report.elapsed = begin.elapsed();
    Ok(report)
}

async fn visit(caller: &Caller, nodes: &Nodes) -> (Ending, Option<Link>) {
    match timeout(PATIENCE, Link::open(caller)).await {
        Ok(Ok(link)) => (link.ask(nodes.random()).await, Some(link)),
        Ok(Err(error)) => (Ending::Cut(error), None),
        Err(_) => (Ending::Cut("no handshake".to_owned()), None),
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(100);
