//! The few words all modules use.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics,
    process::{Finished, Gateway, Process},
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(60);

/// A registrar's connection.
pub async fn registrar(deployment: &Deployment, gateway: &Gateway) -> Client {
    Client::open(deployment, gateway.lookup, &deployment.registrar).await
}

/// How a lookup ended, in one line.
pub async fn ending(client: &Client, node: &str) -> String {
    client.lookup(node).await.map_or_else(|ending| ending, |_| "OK".into())
}

/// A number of the metrics page.
pub async fn number(gateway: &Gateway, name: &str) -> f64 {
    metrics::scrape(gateway.metrics.unwrap()).await.sum(name, &[])
}

/// Waits until a number of the metrics page is `wanted`.
pub async fn becomes(gateway: &Gateway, name: &str, wanted: f64) {
    let equal = |page: &metrics::Metrics| (page.sum(name, &[]) - wanted).abs() < f64::EPSILON;
    metrics::wait_for(gateway.metrics.unwrap(), equal, BOUND).await;
}

/// Starts the gateway, which is to end by itself.
pub fn refused(deployment: &Deployment) -> Finished {
    Process::run(deployment.command(["serve"]), BOUND)
}

/// SIGTERM, and everything it says until it has ended with this code.
pub async fn stopped(gateway: &Gateway, code: i32) -> String {
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(code), "{}", gateway.log.tail());
    gateway.log.whole(BOUND)
}

/// A plugin with these lines in its `lookup`, and `create` as simple as can be.
pub fn plugin(head: &str, lookup: &str) -> String {
    let lookup = lookup.replace('\n', "\n        ");
    format!(
        "import credgate\n{head}\nclass Plugin:\n    def lookup(self, node_id):\n        {lookup}\n\ndef create(config):\n    return Plugin()\n"
    )
}
