//! The number of series is constant, whatever callers send. Literal counts: `scripts/soak series`.

use std::collections::BTreeSet;

use credgate_support::{deployment::Deployment, flood::Flood, metrics::Metrics};

use crate::ground::page;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_node_method_or_token_makes_a_series() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let before = series(&page(&gateway).await);
    Flood { nodes: 200, methods: 50, tokens: 50 }.send(&deployment, &gateway).await;
    let page = page(&gateway).await;
    assert_eq!(series(&page), before);
    assert_eq!(page.sum("credgate_rpcs_total", &[("code", "NOT_FOUND"), ("method", "LookupCredential")]), 200.0);
    assert_eq!(page.sum("credgate_rpcs_total", &[("method", "unknown"), ("code", "UNIMPLEMENTED")]), 50.0);
    assert_eq!(page.sum("credgate_authentication_failures_total", &[("cause", "unknown_token")]), 50.0);
}

fn series(page: &Metrics) -> BTreeSet<String> {
    let samples = page.samples.iter().filter(|sample| !sample.name.starts_with("credgate_csv_"));
    samples.map(|sample| format!("{} {:?}", sample.name, sample.labels)).collect()
}
