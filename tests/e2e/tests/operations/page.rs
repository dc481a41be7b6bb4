//! The metrics page: Prometheus's own linter finds nothing, and pages, alerts and dashboard speak of what is on it.

use std::{collections::BTreeSet, fs};

use credgate_support::{
    deployment::Deployment,
    metrics::{self, Metrics},
    process::Gateway,
};

use crate::ground::{BOUND, page, promtool, registrar, repository, text, with_sqlite};

const PLUGIN: &str = "
class Plugin:
    def lookup(self, node_id):
        return 'from-the-plugin'

def create(config):
    return Plugin()
";

/// Names that are no metrics: tables of credgate's own schema.
const TABLES: [&str; 2] = ["credgate_nodes", "credgate_schema"];

/// A gateway of each kind, after one lookup, with the provider's own numbers on its page.
async fn pages() -> Vec<Metrics> {
    let deployments = [
        (Deployment::mtls(), "credgate_csv_rows"),
        (with_sqlite(Deployment::mtls()), "credgate_sql_connections_idle"),
        (Deployment::mtls().with_python(PLUGIN), "credgate_python_threads"),
    ];
    let mut pages = Vec::new();
    for (deployment, own) in deployments {
        let gateway = deployment.start();
        registrar(&deployment, &gateway).await.lookup("2000").await.unwrap();
        pages.push(metrics::wait_for(gateway.metrics.unwrap(), |page| page.sum(own, &[]) > 0.0, BOUND).await);
    }
    pages
}

fn families(pages: &[Metrics]) -> BTreeSet<String> {
    let lines = pages.iter().flat_map(|page| page.text.lines());
    lines.filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promtool_finds_nothing_and_every_name_that_is_written_down_exists() {
    let pages = pages().await;
    for page in &pages {
        assert_eq!(promtool(&["check", "metrics"], &repository("."), &page.text), "");
    }
    let families = families(&pages);
    let shown = names(&text("docs/metrics.md"));
    assert_eq!(families.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new(), "not in docs/metrics.md");
    let mut files = vec!["deploy/prometheus/credgate.rules.yml".into(), "deploy/grafana/credgate.json".into()];
    files.extend(fs::read_dir(repository("docs")).unwrap().map(|file| {
        let name = file.unwrap().file_name();
        format!("docs/{}", name.to_str().unwrap())
    }));
    for file in files {
        let unknown: Vec<_> = names(&text(&file)).into_iter().filter(|name| !families.contains(name)).collect();
        assert!(unknown.is_empty(), "{file} speaks of {unknown:?}");
    }
}

/// Every word that looks like a metric of ours, as its family.
fn names(text: &str) -> BTreeSet<String> {
    let is_of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.split(|c: char| !is_of_a_name(c))
        .filter(|word| word.len() > 9 && (word.starts_with("credgate_") || word.starts_with("process_")))
        .filter(|word| !TABLES.contains(word))
        .map(|word| ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word))
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dashboard_shows_what_the_alerts_look_at() {
    let shown = names(&text("deploy/grafana/credgate.json"));
    let watched = names(&text("deploy/prometheus/credgate.rules.yml"));
    assert_eq!(watched.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new());
    let dashboard: serde_json::Value = serde_json::from_str(&text("deploy/grafana/credgate.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}

/// What stood still on the page moves: each number is read, none is a constant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_follow_what_happens() {
    let deployment = Deployment::mtls().with_nodes(7);
    let gateway = deployment.start();
    let before = page(&gateway).await;
    assert_eq!(phase(&before), ["serving"]);
    assert_eq!(before.value("credgate_live", &[]), Some(1.0));
    assert_eq!(before.value("credgate_slots", &[]), Some(1024.0));
    assert_eq!(before.value("credgate_queue_limit", &[]), Some(1024.0));
    assert_eq!(before.value("credgate_connections_limit", &[("listener", "lookup")]), Some(4096.0));
    is_of(&gateway, "credgate_csv_rows", 7.0).await;

    let client = registrar(&deployment, &gateway).await;
    let _watch = client.watch("readiness").await.unwrap();
    let after = page(&gateway).await;
    let lookup = [("listener", "lookup")];
    assert_eq!(after.value("credgate_watches", &lookup), Some(1.0));
    assert_eq!(after.value("credgate_connections_accepted_total", &lookup), Some(1.0));
    assert!(after.value("process_open_fds", &[]) > before.value("process_open_fds", &[]));
    assert!(after.value("process_resident_memory_bytes", &[]).unwrap() > 1e6);
    client.check("liveness").await.unwrap();
    let ended = page(&gateway).await;
    assert_eq!(ended.value("credgate_health_check_seconds_count", &[("code", "OK")]), Some(1.0));
}

fn phase(page: &Metrics) -> Vec<&str> {
    let phases = page.samples.iter().filter(|sample| sample.name == "credgate_phase" && sample.value == 1.0);
    phases.map(|sample| &*sample.labels["phase"]).collect()
}

async fn is_of(gateway: &Gateway, name: &str, wanted: f64) {
    metrics::wait_for(gateway.metrics.unwrap(), |page| page.value(name, &[]) == Some(wanted), BOUND).await;
}
