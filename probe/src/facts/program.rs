//! The host's own programs: run once, with a bound, in the C locale.

use std::{io, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use super::Trouble;

/// What a program wrote and how it ended.
#[derive(Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    pub is_success: bool,
}

/// Runs it to its end. `instead` says what to do where the program is not installed.
pub async fn run(program: &str, arguments: &[&str], instead: &str) -> Result<Output, Trouble> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).kill_on_drop(true);
    match timeout(BOUND, command.output()).await {
        Ok(Ok(output)) => Ok(Output {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            is_success: output.status.success(),
        }),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            Err(Trouble::Refused(format!("{program} is not installed; {instead}")))
        }
        Ok(Err(error)) => Err(Trouble::Failed(format!("{program} cannot be run: {error}"))),
        Err(_) => Err(Trouble::Failed(format!("{program} has not ended within {} s", BOUND.as_secs()))),
    }
}

impl Output {
    /// The program's own word on why it failed.
    pub fn failure(&self, program: &str) -> Trouble {
        let said = self.stderr.lines().chain(self.stdout.lines()).find(|line| !line.trim().is_empty());
        Trouble::Failed(format!("{program} failed: {}", said.unwrap_or("it does not say why").trim()))
    }
}

/// Longer than the 25 s after which a D-Bus call gives up by itself.
const BOUND: Duration = Duration::from_secs(30);
