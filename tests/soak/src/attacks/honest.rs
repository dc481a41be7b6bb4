//! The clients that must not notice: lookups, new connections, cancels and probes, on a thread of their own.

use std::{sync::Arc, time::Duration};

use credgate_load::{Arrivals, Caller, Nodes, Open, Pacer, Report, arrivals, open, probes};
use credgate_support::{
    deployment::Deployment,
    process::Gateway,
    rawh2::{Connection, Reason, Request},
};
use tokio::time::Instant;

use crate::load::{BOUND, beside};

/// What they saw.
pub struct Seen {
    pub lookups: Report,
    pub arrivals: Report,
    pub probes: Report,
    /// Calls that were given up, and whether their connection still served in the end.
    pub cancels: usize,
    pub still_open: bool,
}

pub fn caller(deployment: &Deployment, gateway: &Gateway) -> Caller {
    Caller::of(deployment, gateway.lookup, &deployment.registrar)
}

/// Runs them all for so long.
pub async fn go_on(deployment: &Deployment, gateway: &Gateway, duration: Duration) -> Seen {
    let (caller, nodes) = (caller(deployment, gateway), Arc::new(Nodes::of(&deployment.nodes)));
    let (token, end) = (deployment.registrar.token.clone(), Instant::now() + duration);
    let lookups = beside(async move {
        let plan = Open { connections: 1, rate: 500.0, duration };
        let visits = Arrivals { rate: 1.0, duration, retries: 0, stay: false };
        let cancels = cancels(&caller, Request::lookup("2000").token(&token), end);
        let (lookups, arrivals, (cancels, still_open)) =
            tokio::join!(open(&caller, &nodes, plan), arrivals(&caller, &nodes, visits), cancels);
        (lookups.unwrap(), arrivals.unwrap(), cancels, still_open)
    });
    let probes = probes(deployment, gateway.control, 10.0, end).await.unwrap();
    let (lookups, arrivals, cancels, still_open) = lookups.ended().await;
    Seen { lookups, arrivals, probes, cancels, still_open }
}

/// G2: 50 a second, some before the answer could come, some after it may have.
async fn cancels(caller: &Caller, request: Request, end: Instant) -> (usize, bool) {
    let connection = Connection::open(&caller.target).await.unwrap();
    let (mut pacer, mut count) = (Pacer::new(50.0).unwrap(), 0);
    while pacer.next().await < end {
        let mut call = connection.begin(request.clone()).await;
        if count % 2 == 1 {
            call.messages(1, Duration::from_millis(1)).await;
        }
        call.reset(Reason::CANCEL);
        count += 1;
    }
    (count, connection.send(request, BOUND).await.ending() == "OK")
}
