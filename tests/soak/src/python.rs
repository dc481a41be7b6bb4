//! Plugins: what becomes of each behaviour, what a lookup costs, and that nothing a plugin does holds the gateway up.

pub mod lookups;
pub mod signals;
pub mod stuck;
pub mod table;
pub mod venv;

use std::time::Duration;

use credgate_support::{deployment::Deployment, grpc::Client, metrics, process::Gateway};

/// Longest wait for anything that is to happen.
const BOUND: Duration = Duration::from_secs(120);

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn registrar(deployment: &Deployment, gateway: &Gateway) -> Client {
    Client::open(deployment, gateway.lookup, &deployment.registrar).await
}

async fn ending(client: &Client, node: &str) -> String {
    client.lookup(node).await.map_or_else(|ending| ending, |_| "OK".into())
}

async fn slots_in_use(gateway: &Gateway) -> f64 {
    metrics::scrape(gateway.metrics.unwrap()).await.sum("credgate_slots_in_use", &[])
}

async fn until_in_use(gateway: &Gateway, wanted: usize) {
    let wanted = wanted as f64;
    let equal = |page: &metrics::Metrics| (page.sum("credgate_slots_in_use", &[]) - wanted).abs() < f64::EPSILON;
    metrics::wait_for(gateway.metrics.unwrap(), equal, BOUND).await;
}

/// The value that `share` of all do not exceed.
fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}
