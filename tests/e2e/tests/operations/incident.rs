//! A scripted incident, and who was not there names each cause from log and metrics alone.
//!
//! Two gateways: one whose PostgreSQL is stopped under load, and who is then called with a wrong token and with an expired
//! certificate; one whose plugin has a bug, and then never returns. Their logs are kept beside this file, with what
//! changes from run to run taken out: `*` stands for any text, and a line that begins with `~` need not come. With
//! `CREDGATE_SHOW_LOG=1` the lines are printed as they would stand there.

mod diagnosis;
mod record;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_support::{
    database::{Database, Kind},
    deployment::{Deployment, Identity},
    grpc::Client,
    metrics::{self, Metrics},
    pki::{Leaf, Token},
    process::Gateway,
    rawh2::{Connection, Request},
};
use tokio::task::{JoinHandle, block_in_place};

use crate::ground::{BOUND, page, registrar, run};
use diagnosis::causes;
use record::{fits, shown};

const CALLERS: usize = 8;

/// Registrars that ask without a pause, from now until the end.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    async fn begin(deployment: &Deployment, gateway: &Gateway) -> Self {
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let mut tasks = Vec::new();
        for _ in 0..CALLERS {
            let (client, stop, answered) =
                (registrar(deployment, gateway).await, Arc::clone(&stop), Arc::clone(&answered));
            tasks.push(tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    // How they end, the gateway's own records tell.
                    if client.lookup("2000").await.is_ok() {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }));
        }
        Self { stop, answered, tasks }
    }

    async fn answers(&self, more: usize) {
        let wanted = self.answered.load(Ordering::Relaxed) + more;
        let wait = async {
            while self.answered.load(Ordering::Relaxed) < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(BOUND, wait).await.unwrap();
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

async fn reaches(gateway: &Gateway, name: &str, labels: &[(&str, &str)], least: f64) -> Metrics {
    metrics::wait_for(gateway.metrics.unwrap(), |page| page.sum(name, labels) >= least, BOUND).await
}

async fn stopped(gateway: &Gateway) -> String {
    gateway.terminate();
    gateway.ended(BOUND).await;
    gateway.log.whole(BOUND)
}

/// Three lookups, however they end.
async fn three(deployment: &Deployment, gateway: &Gateway, identity: &Identity) {
    for _ in 0..3 {
        if let Ok(connection) = Connection::open(&deployment.target(gateway.lookup, identity)).await {
            connection.send(Request::lookup("2000").token(&identity.token), BOUND).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_a_token_and_a_certificate() {
    let database = Database::start(Kind::Postgres);
    let deployment = Deployment::mtls()
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .set("provider.sql.url", database.reader_url())
        .set("health.interval", "300ms")
        .set("lookup.timeout", "1s")
        .with_file("owner.url", database.owner_url());
    let owner = deployment.path("owner.url").to_str().unwrap().to_owned();
    run(&deployment, &["migrate", "--url-file", &owner]);
    run(&deployment, &["import", deployment.path("nodes.csv").to_str().unwrap(), "--url-file", &owner]);
    let gateway = deployment.start();
    let load = Load::begin(&deployment, &gateway).await;
    load.answers(50).await;
    let calm = page(&gateway).await;

    block_in_place(|| database.stop());
    reaches(&gateway, "credgate_outage", &[], 1.0).await;
    let outage = reaches(&gateway, "credgate_backend_checks_total", &[("result", "failed")], 2.0).await;
    block_in_place(|| database.start_again());
    load.answers(50).await;
    let over = metrics::wait_for(gateway.metrics.unwrap(), |page| page.sum("credgate_ready", &[]) > 0.0, BOUND).await;
    load.end().await;

    three(&deployment, &gateway, &deployment.registrar.with_token(Token::random())).await;
    let token = page(&gateway).await;

    let san = deployment.registrar.san.clone().unwrap();
    let leaf = Leaf::client().common_name("registrar-east").dns(&san).expired(Duration::from_secs(3600));
    let expired = deployment.registrar.with_certificate(Some(deployment.ca.issue(&leaf)));
    three(&deployment, &gateway, &expired).await;
    let certificate = reaches(&gateway, "credgate_connections_failed_total", &[("listener", "lookup")], 3.0).await;

    let log = stopped(&gateway).await;
    let lines = shown(&gateway.log.lines(), &deployment);
    fits(&lines, include_str!("incident/database.log"));
    assert_eq!(causes(&lines, &calm, &outage), ["the store does not answer"]);
    assert_eq!(causes(&lines, &over, &token), ["a caller has an unknown token"]);
    assert_eq!(causes(&lines, &token, &certificate), ["a caller's certificate is expired"]);
    for secret in deployment.secrets().into_iter().chain([database.password.clone()]) {
        assert!(!log.contains(&secret));
    }
}

const PLUGIN: &str = "
import time

class Plugin:
    def __init__(self):
        self.nodes = {'2000': 'from-the-plugin'}

    def lookup(self, node_id):
        if node_id == '2009':
            time.sleep(1e6)
        return self.nodes[node_id]

def create(config):
    return Plugin()
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_with_a_bug_that_then_never_returns() {
    let deployment = Deployment::mtls()
        .with_python(PLUGIN)
        .set("provider.python.workers", 4)
        .set("lookup.timeout", "500ms")
        .set("lookup.queue", 0)
        .set("health.stuck_after", "500ms")
        .set("shutdown.drain_timeout", "1s")
        .set("shutdown.close_timeout", "500ms");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    client.lookup("2000").await.unwrap();
    let calm = reaches(&gateway, "credgate_python_threads_idle", &[], 4.0).await;

    for _ in 0..3 {
        assert_eq!(client.lookup("2001").await.unwrap_err(), "INTERNAL PROVIDER_DEFECT");
    }
    let defect = page(&gateway).await;

    stick(&client).await;
    let stuck = reaches(&gateway, "credgate_stuck", &[], 1.0).await;
    assert_eq!(client.lookup("2000").await.unwrap_err(), "RESOURCE_EXHAUSTED AT_CAPACITY");

    stopped(&gateway).await;
    let lines = shown(&gateway.log.lines(), &deployment);
    fits(&lines, include_str!("incident/plugin.log"));
    assert_eq!(causes(&lines, &calm, &defect), ["the plugin has a bug"]);
    assert_eq!(causes(&lines, &defect, &stuck), ["the plugin does not return"]);
}

/// Takes every thread.
async fn stick(client: &Client) {
    let calls = (0..4).map(|_| client.lookup("2009"));
    for ending in futures::future::join_all(calls).await {
        assert_eq!(ending.unwrap_err(), "UNAVAILABLE BACKEND_TIMEOUT");
    }
}
