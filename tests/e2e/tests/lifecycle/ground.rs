//! The few words all modules use.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics,
    process::{Gateway, Process},
};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::interval,
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(30);

/// A client of the lookup listener.
pub async fn registrar(deployment: &Deployment, gateway: &Gateway) -> Client {
    Client::open(deployment, gateway.lookup, &deployment.registrar).await
}

/// A client of the control listener.
pub async fn probe(deployment: &Deployment, gateway: &Gateway) -> Client {
    Client::open(deployment, gateway.control, &deployment.probe).await
}

/// A number of the metrics page, summed over all samples with these labels.
pub async fn number(gateway: &Gateway, name: &str) -> f64 {
    metrics::scrape(gateway.metrics.unwrap()).await.sum(name, &[])
}

/// Waits until a number of the metrics page is `wanted`.
pub async fn becomes(gateway: &Gateway, name: &str, wanted: f64) {
    let equal = |page: &metrics::Metrics| (page.sum(name, &[]) - wanted).abs() < f64::EPSILON;
    metrics::wait_for(gateway.metrics.unwrap(), equal, BOUND).await;
}

/// Waits for the phase of the drain.
pub async fn phase(process: &Process, phase: &str) {
    process.log.seen(0, |line| line.says("phase") && line.field("phase") == Some(phase), BOUND).await;
}

/// How many lines of the log say this.
pub fn said(process: &Process, message: &str) -> usize {
    process.log.lines().iter().filter(|line| line.says(message)).count()
}

/// How each of these lookups ended, all sent at once.
pub async fn endings(client: &Client, nodes: impl IntoIterator<Item = &str>) -> Vec<String> {
    let mut calls = JoinSet::new();
    for node in nodes {
        let (client, node) = (client.clone(), node.to_owned());
        calls.spawn(async move { client.lookup(&node).await.err().unwrap_or_else(|| "OK".to_owned()) });
    }
    calls.join_all().await
}

/// Somebody who asks for one health status over and over, from now until [`Asking::end`].
pub struct Asking {
    task: JoinHandle<()>,
    answers: Arc<Mutex<Vec<Result<ServingStatus, String>>>>,
}

impl Asking {
    /// On a connection of its own to the control listener.
    pub async fn begin(deployment: &Deployment, gateway: &Gateway, name: &'static str) -> Self {
        let client = probe(deployment, gateway).await;
        let answers = Arc::<Mutex<Vec<_>>>::default();
        let told = Arc::clone(&answers);
        let task = tokio::spawn(async move {
            let mut ticks = interval(Duration::from_millis(20));
            loop {
                ticks.tick().await;
                let answer = client.check(name).await;
                told.lock().unwrap().push(answer);
            }
        });
        Self { task, answers }
    }

    /// Asserts that every answer was SERVING, and that there were some.
    pub fn end(self) {
        self.task.abort();
        let answers = self.answers.lock().unwrap();
        let wrong: Vec<_> = answers.iter().filter(|answer| **answer != Ok(ServingStatus::Serving)).collect();
        assert!(wrong.is_empty() && answers.len() > 3, "{} answers, of them {wrong:?}", answers.len());
    }
}
