//! The few words all modules use.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics::{self, Metrics},
    process::{Gateway, Line, Process},
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(60);

/// A registrar's connection.
pub async fn registrar(deployment: &Deployment, gateway: &Gateway) -> Client {
    Client::open(deployment, gateway.lookup, &deployment.registrar).await
}

/// The metrics page.
pub async fn page(gateway: &Gateway) -> Metrics {
    metrics::scrape(gateway.metrics.unwrap()).await
}

/// The lines with this message.
pub fn said(process: &Process, message: &str) -> Vec<Line> {
    process.log.lines().into_iter().filter(|line| line.says(message)).collect()
}

/// Asserts that a command of the gateway ends well.
pub fn run(deployment: &Deployment, args: &[&str]) {
    let done = Process::run(deployment.command(args), BOUND);
    assert_eq!(done.exit.code, Some(0), "{args:?}: {}", done.stderr);
}

/// Nodes in credgate's own schema, in an SQLite file.
pub fn with_sqlite(deployment: Deployment) -> Deployment {
    let deployment =
        deployment.remove("provider.csv").set("provider.kind", "sql").merge("[provider.sql]\nurl = 'sqlite:nodes.db'");
    run(&deployment, &["migrate"]);
    run(&deployment, &["import", deployment.path("nodes.csv").to_str().unwrap()]);
    deployment
}

/// Prometheus's tool, with this on its standard input; what it said, once it has agreed.
pub fn promtool(args: &[&str], folder: &Path, input: &str) -> String {
    let mut command = Command::new("promtool");
    command.args(args).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("promtool: {error}; apt-get install prometheus"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "promtool {args:?}: {said}");
    said
}

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The text of a file of the repository.
pub fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
