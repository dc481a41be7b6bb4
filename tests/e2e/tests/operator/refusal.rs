//! A configuration as text that a test changes line by line, and what `check-config` and `serve` say of it.

use std::{path::Path, process::Command, time::Duration};

use credgate_support::{
    deployment::Deployment,
    process::{Finished, Process, executable},
};

/// A deployment and the text of its `credgate.toml`: every table once, each setting on a line of its own.
pub struct Sample {
    pub deployment: Deployment,
    text: String,
}

/// What both commands said, in the same words.
#[derive(Debug)]
pub struct Refusal {
    folder: String,
    config: String,
    /// Behind `error: `.
    pub errors: Vec<String>,
    /// Behind `warning: `.
    pub warnings: Vec<String>,
    pub whole: String,
}

/// No run takes longer; generous, for machines that compile meanwhile.
pub const BOUND: Duration = Duration::from_secs(60);

impl Sample {
    /// Mutual TLS, two identities, three nodes.
    pub fn new() -> Self {
        Self::of(Deployment::mtls().with_nodes(3))
    }

    /// The sample text in another deployment with mutual TLS.
    pub fn of(deployment: Deployment) -> Self {
        let text = SAMPLE
            .replace("REGISTRAR_DIGEST", &deployment.registrar.token.digest())
            .replace("PROBE_DIGEST", &deployment.probe.token.digest());
        Self { deployment, text }
    }

    /// The same deployment with one part of its text replaced.
    pub fn with(&self, from: &str, to: &str) -> String {
        replaced(&self.text, from, to)
    }

    /// The same for more than one part.
    pub fn with_all(&self, changes: &[(&str, &str)]) -> String {
        changes.iter().fold(self.text.clone(), |text, (from, to)| replaced(&text, from, to))
    }

    /// As it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `credgate COMMAND` on this text.
    pub fn run(&self, command: &str, text: &str) -> Finished {
        let path = self.deployment.path("credgate.toml");
        std::fs::write(&path, text).unwrap();
        let mut run = on(&path, command);
        // Nothing but `[log]` decides what is said.
        run.env("RUST_LOG", "trace");
        Process::run(run, BOUND)
    }

    /// Both commands refuse this text with exit code 78, on standard error alone, in the same words.
    pub fn refused(&self, text: &str) -> Refusal {
        let check = self.run("check-config", text);
        let serve = self.run("serve", text);
        assert_eq!(check.exit.code, Some(78), "check-config of\n{text}\nsaid {}{}", check.stdout, check.stderr);
        assert_eq!(serve.exit.code, Some(78), "{}", serve.stderr);
        assert_eq!(check.stdout, "");
        assert_eq!(check.stderr, serve.stderr, "check-config and serve differ");
        Refusal::new(self.deployment.dir(), text, check.stderr)
    }

    /// `check-config` accepts this text; its warnings come back.
    pub fn accepted(&self, text: &str) -> Vec<String> {
        let check = self.run("check-config", text);
        assert_eq!(check.exit.code, Some(0), "{text}\n{}{}", check.stdout, check.stderr);
        assert!(check.stdout.contains("credgate.toml: good\n"), "{}", check.stdout);
        starting("warning: ", &check.stderr)
    }
}

impl Refusal {
    fn new(folder: &Path, config: &str, whole: String) -> Self {
        let (errors, warnings) = (starting("error: ", &whole), starting("warning: ", &whole));
        let folder = folder.display().to_string();
        let last = whole.lines().last().unwrap_or_default();
        let plural = if errors.len() == 1 { "problem" } else { "problems" };
        assert_eq!(last, format!("credgate: {folder}/credgate.toml: {} {plural} to solve", errors.len()));
        assert_eq!(whole.lines().count(), errors.len() + warnings.len() + 1, "other lines than problems: {whole}");
        Self { folder, config: config.into(), errors, warnings, whole }
    }

    /// No warning and exactly these errors, in any order: what stands in their line of `credgate.toml` (nothing: line
    /// 1), the key, words of the sentence.
    pub fn says(&self, wanted: &[(&str, &str, &str)]) {
        assert_eq!(self.errors.len(), wanted.len(), "wanted {wanted:?}, got\n{}", self.whole);
        assert_eq!(self.warnings.len(), 0, "{}", self.whole);
        for (anchor, key, words) in wanted {
            let place = format!("{}/credgate.toml:{}: {key}: ", self.folder, line_of(&self.config, anchor));
            self.holds(&place, words);
        }
    }

    /// One of the errors begins with `place` and holds `words`.
    pub fn holds(&self, place: &str, words: &str) {
        let found = self.errors.iter().any(|error| error.starts_with(place) && error[place.len()..].contains(words));
        assert!(found, "no error at {place:?} with {words:?} in\n{}", self.whole);
    }

    /// One of the errors begins with a file of the deployment's folder, as it stands behind `place`, and holds `words`.
    pub fn holds_file(&self, file: &str, words: &str) {
        self.holds(&format!("{}/{file}", self.folder), words);
    }
}

/// `credgate COMMAND --config FILE`.
pub fn on(path: &Path, command: &str) -> Command {
    let mut run = executable("credgate");
    run.arg(command).arg("--config").arg(path);
    run
}

/// The line that holds `anchor` for the first time, from 1.
pub fn line_of(text: &str, anchor: &str) -> usize {
    let at = text.find(anchor).unwrap_or_else(|| panic!("no {anchor:?} in\n{text}"));
    text[..at].matches('\n').count() + 1
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from:?} in the sample");
    text.replace(from, to)
}

fn starting(with: &str, text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix(with)).map(str::to_owned).collect()
}

const SAMPLE: &str = r#"[lookup]
listen = "127.0.0.1:0"
timeout = "2s"
queue = 1024
node_id = { grammar = "digits", max_length = 10 }
password = { max_bytes = 79 }

[control]
listen = "127.0.0.1:0" # control

[limits]
handshakes = 256

[tls]
cert = "server.pem"
key = "server.key"
client_ca = "ca.pem"

[[identity]]
name = "registrar-east"
role = "registrar"
token_sha256 = ["REGISTRAR_DIGEST"]
san = ["registrar-east.example.net"]

[[identity]]
name = "probe"
role = "probe"
token_sha256 = ["PROBE_DIGEST"]
san = ["probe.example.net"]

[rate]
global = { per_second = 100000, burst = 200000 }

[provider]
kind = "csv"
open_timeout = "30s"

[provider.csv]
path = "nodes.csv"

[health]
interval = "5s"
max_age = "15s"

[shutdown]
drain_timeout = "5s"

[metrics]
listen = "127.0.0.1:0" # metrics

[log]
format = "json"
"#;
