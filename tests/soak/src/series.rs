//! The number of series on the metrics page before and after 100,000 distinct nodes, 1,000 methods that do not exist, and
//! 1,000 tokens that nobody has; and what Prometheus's linter says of the page.

use std::{
    collections::BTreeSet,
    io::Write as _,
    process::{Command, Stdio},
    time::Instant,
};

use credgate_support::{
    deployment::Deployment,
    flood::Flood,
    metrics::{self, Metrics},
};

use crate::load::run as block_on;

const FLOOD: Flood = Flood { nodes: 100_000, methods: 1_000, tokens: 1_000 };

pub fn run() {
    block_on(async {
        let deployment = Deployment::mtls();
        let gateway = deployment.start();
        let address = gateway.metrics.unwrap();
        // The provider's own numbers come a moment after the start.
        let own = |page: &Metrics| page.sum("credgate_csv_rows", &[]) > 0.0;
        let before = metrics::wait_for(address, own, crate::load::BOUND).await;
        let began = Instant::now();
        FLOOD.send(&deployment, &gateway).await;
        let after = metrics::scrape(address).await;
        assert_eq!(series(&before), series(&after));
        println!("| | series | bytes of the page | resident |\n|---|---|---|---|");
        println!("| before | {} | {} | |", before.samples.len(), before.text.len());
        let (count, size, memory) = (after.samples.len(), after.text.len(), gateway.usage().memory >> 20);
        println!("| after {FLOOD:?} in {:.0?} | {count} | {size} | {memory} MB |", began.elapsed());
        println!("\npromtool check metrics: {}", promtool(&after.text));
    });
}

fn series(page: &Metrics) -> BTreeSet<String> {
    page.samples.iter().map(|sample| format!("{} {:?}", sample.name, sample.labels)).collect()
}

fn promtool(page: &str) -> String {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("promtool: {error}; apt-get install prometheus"));
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    "nothing to say".to_owned()
}
