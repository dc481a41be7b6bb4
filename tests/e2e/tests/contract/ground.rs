//! The few words all modules use.

use std::time::Duration;

use credgate_support::{
    deployment::{Deployment, Identity},
    metrics,
    process::Gateway,
    rawh2::{Answer, Connection, Request},
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(30);

/// A raw connection of an identity.
pub async fn raw(deployment: &Deployment, address: std::net::SocketAddr, identity: &Identity) -> Connection {
    Connection::open(&deployment.target(address, identity)).await.unwrap()
}

/// Sends one request and reads its answer to the end.
pub async fn send(connection: &Connection, request: Request) -> Answer {
    connection.send(request, BOUND).await
}

/// A number of the metrics page, summed over all samples with these labels.
pub async fn number(gateway: &Gateway, name: &str, labels: &[(&str, &str)]) -> f64 {
    metrics::scrape(gateway.metrics.unwrap()).await.sum(name, labels)
}

/// Waits until a number of the metrics page is `wanted`.
pub async fn becomes(gateway: &Gateway, name: &str, labels: &[(&str, &str)], wanted: f64) {
    let equal = |page: &metrics::Metrics| (page.sum(name, labels) - wanted).abs() < f64::EPSILON;
    metrics::wait_for(gateway.metrics.unwrap(), equal, BOUND).await;
}

/// Waits until a number of the metrics page is at least `wanted`.
pub async fn reaches(gateway: &Gateway, name: &str, labels: &[(&str, &str)], wanted: f64) {
    metrics::wait_for(gateway.metrics.unwrap(), |page| page.sum(name, labels) >= wanted, BOUND).await;
}

/// Waits for a line of the gateway's log.
pub async fn logged(gateway: &credgate_support::process::Process, message: &str) {
    gateway.log.seen(0, |line| line.says(message), BOUND).await;
}

/// Waits for the phase of the drain.
pub async fn phase(gateway: &credgate_support::process::Process, phase: &str) {
    gateway.log.seen(0, |line| line.says("phase") && line.field("phase") == Some(phase), BOUND).await;
}
