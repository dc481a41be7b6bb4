//! Services of launchd, as `launchctl print` tells them (Darwin).

use super::{Trouble, program};

/// What launchd says of a service.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    word: String,
    /// The number of its process, when there is one.
    pub process: Option<u32>,
}

/// Asks launchd. A name without a domain is one of the system's.
pub async fn ask(service: &str) -> Result<State, Trouble> {
    let target = if service.contains('/') { service.to_owned() } else { format!("system/{service}") };
    let output = program::run("launchctl", &["print", &target], "without launchd, give --pid or --pid-file").await?;
    if output.stderr.contains("Could not find service") {
        return Ok(State { word: "launchd knows no such service".to_owned(), process: None });
    }
    if !output.is_success {
        return Err(output.failure("launchctl"));
    }
    State::parse(&output.stdout).ok_or_else(|| Trouble::Failed("launchctl print did not tell the state".to_owned()))
}

impl State {
    /// The service's own keys are indented once; deeper ones belong to parts of it.
    fn parse(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix('\t')?.strip_prefix(key)?.strip_prefix(" = "));
        let state = value("state")?;
        Some(Self { word: format!("launchd: {state}"), process: value("pid").and_then(|id| id.parse().ok()) })
    }

    /// Why a service with a process does not count as running.
    pub fn unsettled(&self) -> Option<String> {
        (self.word != "launchd: running").then(|| self.word.clone())
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_not() {
        let running = State::parse(include_str!("fixtures/launchctl-running")).unwrap();
        assert_eq!(running, State { word: "launchd: running".into(), process: Some(2871) });
        assert_eq!(running.unsettled(), None);
        let waiting = State::parse(include_str!("fixtures/launchctl-not-running")).unwrap();
        assert_eq!(waiting, State { word: "launchd: not running".into(), process: None });
        assert_eq!(State::parse("nothing of the kind"), None);
    }
}
