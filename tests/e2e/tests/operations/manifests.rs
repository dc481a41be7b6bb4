//! What is shipped to deploy with: each manifest is parsed, and agrees with the configuration beside it and with the
//! executables.

mod compose;
mod kubernetes;
mod package;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use credgate_support::{
    deployment::Deployment,
    pki::Leaf,
    process::{Process, executable},
};
use serde_json::Value;

use crate::ground::{BOUND, repository, text};

/// The documents of a YAML file.
fn yaml(path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What `check-config` has said of a good configuration.
struct Judged {
    settings: String,
    /// The time that a stop takes at most.
    budget: Duration,
}

/// Judges a sample, whose files are found in this folder.
fn judged(path: &Path) -> Judged {
    let mut command = executable("credgate");
    command.args(["check-config", "--config"]).arg(path);
    let done = Process::run(command, BOUND);
    assert_eq!(done.exit.code, Some(0), "{}: {}", path.display(), done.stderr);
    // Containers and Pods listen on every address, and their metrics on an inner network.
    let unexpected = done.stderr.lines().filter(|line| !line.contains("metrics.listen: is not a loopback address"));
    assert_eq!(unexpected.filter(|line| !line.contains("readable by every user")).count(), 0, "{}", done.stderr);
    let budget = done.stdout.lines().find_map(|line| line.strip_prefix("stops within ")?.strip_suffix(" of SIGTERM"));
    Judged { budget: duration(budget.unwrap()), settings: done.stdout }
}

impl Judged {
    /// The port of a listener.
    fn port(&self, listener: &str) -> u64 {
        let line = format!("  {listener}.listen = ");
        let address = self.settings.lines().find_map(|text| text.strip_prefix(&line)).unwrap();
        address.split_whitespace().next().unwrap().rsplit(':').next().unwrap().parse().unwrap()
    }
}

/// `8s`, `1m`, `1m 30s`
fn duration(text: &str) -> Duration {
    text.split_whitespace()
        .map(|part| match part.strip_suffix('m') {
            Some(minutes) => Duration::from_secs(60 * minutes.parse::<u64>().unwrap()),
            None => Duration::from_secs(part.strip_suffix('s').unwrap().parse().unwrap()),
        })
        .sum()
}

/// A folder with certificates for whatever a sample names.
fn files() -> Deployment {
    let deployment = Deployment::mtls();
    let probe = deployment.ca.issue(&Leaf::client().dns("probe.example.net"));
    probe.write(deployment.dir(), "probe");
    deployment
}

/// The words of a probe's command, judged: it asks for this, at the control listener's port.
fn probe_command(command: &Value, asks: &str, control: u64) -> Vec<String> {
    let words: Vec<String> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let (program, rest) = words.split_first().unwrap();
    assert_eq!((program.as_str(), rest[0].as_str()), ("credgate-probe", asks));
    let mut help = executable("credgate-probe");
    help.arg("--help");
    let help = Process::run(help, BOUND).stdout;
    for word in &rest[1..] {
        let (option, _) = word.split_once('=').unwrap_or_else(|| panic!("{word}"));
        assert!(help.contains(&format!("{option} <")), "{option}: {help}");
    }
    assert_eq!(option(&words, "--addr"), format!("127.0.0.1:{control}"));
    words
}

fn option<'a>(words: &'a [String], name: &str) -> &'a str {
    let value = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {words:?}"))
}

/// Every file below a folder of the repository.
fn below(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository(folder)).unwrap().map(|entry| entry.unwrap());
    let paths = entries.map(|entry| (format!("{folder}/{}", entry.file_name().to_str().unwrap()), entry));
    paths
        .filter(|(path, _)| path != "deploy/compose/run")
        .flat_map(|(path, entry)| match entry.file_type().unwrap().is_dir() {
            true => below(&path),
            false => vec![path.into()],
        })
        .collect()
}

#[test]
fn every_sample_configuration_and_every_manifest_is_judged_by_some_test_here() {
    let mut files: Vec<_> = below("deploy").iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    files.retain(|file| [".toml", ".yaml", ".yml"].iter().any(|end| file.ends_with(end)));
    files.sort();
    assert_eq!(
        files,
        [
            "deploy/compose/credgate.toml",
            "deploy/debian/credgate.toml",
            "deploy/kubernetes/config.yaml",
            "deploy/kubernetes/deployment.yaml",
            "deploy/kubernetes/disruption.yaml",
            "deploy/kubernetes/kustomization.yaml",
            "deploy/kubernetes/migrate.yaml",
            "deploy/kubernetes/networkpolicy.yaml",
            "deploy/kubernetes/secrets.example.yaml",
            "deploy/kubernetes/service.yaml",
            "deploy/prometheus/credgate.rules.test.yml",
            "deploy/prometheus/credgate.rules.yml",
            "deploy/prometheus/prometheus.yml",
        ]
    );
}
