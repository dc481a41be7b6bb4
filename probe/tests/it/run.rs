//! Runs the executable and checks what holds for every run.

use std::{ffi::OsString, process::Stdio};

use tokio::process::Command;

use crate::pki::{Pki, TOKEN};

/// What a run ended with.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Arguments of a run: everything right until a test changes it.
pub struct Probe {
    words: Vec<OsString>,
}

impl Probe {
    pub fn new(name: &str, address: impl ToString) -> Self {
        Self { words: vec![name.into(), "--addr".into(), address.to_string().into()] }
    }

    /// CA, token and client certificate of `pki`.
    pub fn complete(pki: &Pki, address: impl ToString) -> Self {
        Self::without_certificate(pki, address)
            .with("--cert", pki.file("client.pem"))
            .with("--key", pki.file("client.key"))
    }

    pub fn without_certificate(pki: &Pki, address: impl ToString) -> Self {
        Self::new("readiness", address).with("--ca", pki.file("ca.pem")).with("--token-file", pki.file("token"))
    }

    pub fn with(mut self, flag: &str, value: impl Into<OsString>) -> Self {
        self.words.extend([flag.into(), value.into()]);
        self
    }

    pub fn and(mut self, word: &str) -> Self {
        self.words.push(word.into());
        self
    }

    /// Runs it; one line or one word, exit code 0 or 1, and nothing secret, at the noisiest log level too.
    pub async fn run(self) -> Ended {
        let child = Command::new(env!("CARGO_BIN_EXE_credgate-probe"))
            .args(self.words)
            .env("RUST_LOG", "trace")
            .stdin(Stdio::null())
            .output();
        let output = child.await.unwrap();
        let ended = Ended {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains("canary") && !all.contains(TOKEN), "{all}");
        match ended.code {
            0 => assert_eq!(ended.stderr, ""),
            code => {
                assert_eq!((code, ended.stdout.as_str()), (1, ""));
                assert!(ended.stderr.ends_with('\n') && ended.stderr.lines().count() == 1, "{}", ended.stderr);
            }
        }
        ended
    }

    /// The line of a failing run behind its beginning `readiness of ADDRESS: `.
    pub async fn failure(self) -> String {
        let ended = self.run().await;
        assert_eq!(ended.code, 1, "{ended:?}");
        let line = ended.stderr.trim_end();
        let rest = line.strip_prefix("readiness of ").and_then(|line| line.split_once(": "));
        rest.map_or(line, |(_, rest)| rest).to_owned()
    }
}
