//! Probes at a fixed rate: each connects to the control listener anew, asks whether the gateway is ready, and leaves.

use std::{net::SocketAddr, time::Duration};

use credgate_client::ServingStatus;
use credgate_support::{deployment::Deployment, grpc::Client};
use tokio::time::{Instant, timeout};

use crate::{Ending, Pacer, Report};

/// Probes a gateway so often a second, until then. A time counts from the moment at which the probe was meant to begin.
pub async fn probes(deployment: &Deployment, control: SocketAddr, rate: f64, end: Instant) -> Result<Report, String> {
    let mut pacer = Pacer::new(rate).map_err(|error| format!("pacer: {error}"))?;
    let mut report = Report::default();
    loop {
        let due = pacer.next().await;
        if due >= end {
            return Ok(report);
        }
        let ending = match timeout(PATIENCE, probe(deployment, control)).await {
            Ok(Ok(ServingStatus::Serving)) => Ending::Right,
            Ok(Ok(status)) => Ending::Status(format!("{status:?}")),
            Ok(Err(error)) => Ending::Cut(error),
            Err(_) => Ending::Cut("no answer within a second".to_owned()),
        };
        report.record(&ending, due.elapsed());
    }
}

async fn probe(deployment: &Deployment, control: SocketAddr) -> Result<ServingStatus, String> {
    let client = Client::dial(deployment, control, &deployment.probe, PATIENCE).await;
    client.map_err(|error| error.to_string())?.check("readiness").await
}

/// How long a probe may take: Kubernetes' own default.
const PATIENCE: Duration = Duration::from_secs(1);
