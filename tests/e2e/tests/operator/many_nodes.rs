//! 40,000 nodes in one file, looked up at random over one connection.

use std::{sync::Arc, time::Duration};

use credgate_client::{Client, Endpoint, Settings};
use credgate_support::deployment::{Deployment, SERVER_NAME};

const NODES: usize = 40_000;
const LOOKUPS: usize = 5_000;
/// Streams of one connection, below the gateway's 256.
const AT_ONCE: usize = 64;
/// Generous: what is tested is that every answer is right.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_random_lookups_among_forty_thousand_nodes_are_right() {
    let deployment = Arc::new(Deployment::mtls().with_nodes(NODES));
    let gateway = deployment.start();
    let files = deployment.registrar.files.clone().unwrap();
    let settings = Settings {
        address: gateway.lookup.to_string(),
        ca: Some(deployment.path("ca.pem")),
        cert: Some(files.cert),
        key: Some(files.key),
        server_name: Some(SERVER_NAME.into()),
        token_file: deployment.registrar.token_file.clone(),
        plaintext: false,
    };
    let client = Client::new(Endpoint::prepare(&settings).unwrap());
    let ids: Arc<Vec<String>> = Arc::new(deployment.nodes.ids().map(str::to_owned).collect());
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|task| {
            let (client, ids, deployment) = (client.clone(), Arc::clone(&ids), Arc::clone(&deployment));
            tokio::spawn(async move {
                for round in (task..LOOKUPS).step_by(AT_ONCE) {
                    let node = &ids[scattered(round)];
                    let password =
                        client.lookup(node, PATIENCE).await.unwrap_or_else(|error| panic!("{node}: {error}"));
                    assert_eq!(password.expose(), deployment.nodes.password(node), "{node}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let page = credgate_support::metrics::scrape(gateway.metrics.unwrap()).await;
    assert_eq!(page.sum("credgate_rpcs_total", &[("method", "LookupCredential"), ("code", "OK")]), 5000.0);
    assert_eq!(page.value("credgate_connections", &[("listener", "lookup")]), Some(1.0));
}

/// A different node for every round: a step without common factors goes through all of them, in no order.
fn scattered(round: usize) -> usize {
    (round * 15_485_863 + 7) % NODES
}
