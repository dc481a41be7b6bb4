//! Units of systemd, as `systemctl show` tells them (org.freedesktop.systemd1(5)).

use super::{Trouble, program};

/// What systemd says of a unit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct State {
    load: String,
    active: String,
    sub: String,
    result: String,
    /// The number of the main process, when there is one.
    pub process: Option<u32>,
    /// Somebody has asked systemd to start, stop or restart it, and that is not done yet.
    has_job: bool,
}

/// Asks systemd.
pub async fn ask(unit: &str) -> Result<State, Trouble> {
    let wanted = "--property=LoadState,ActiveState,SubState,Result,MainPID,Job";
    let arguments = ["show", "--no-pager", wanted, "--", unit];
    let output = program::run("systemctl", &arguments, "without systemd, give --pid or --pid-file").await?;
    if !output.is_success {
        return Err(output.failure("systemctl"));
    }
    State::parse(&output.stdout)
        .ok_or_else(|| Trouble::Failed("systemctl show did not tell ActiveState and MainPID".to_owned()))
}

impl State {
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let owned = |key| value(key).unwrap_or_default().trim().to_owned();
        let process: u32 = value("MainPID")?.trim().parse().ok()?;
        Some(Self {
            load: owned("LoadState"),
            active: value("ActiveState")?.trim().to_owned(),
            sub: owned("SubState"),
            result: owned("Result"),
            process: (process != 0).then_some(process),
            has_job: value("Job").is_some_and(|job| !matches!(job.trim(), "" | "0")),
        })
    }

    /// Why a unit with a process does not count as running: it is on its way up or down.
    pub fn unsettled(&self) -> Option<String> {
        match self.active.as_str() {
            "active" | "reloading" | "refreshing" if self.has_job => Some(format!("{self}, with a job under way")),
            "active" | "reloading" | "refreshing" => None,
            _ => Some(self.to_string()),
        }
    }

    /// Whether a unit without a process will get one without anybody's doing. A crash that systemd answers with a
    /// restart is none of these: that process is gone, and the next may go the same way, for ever.
    pub fn is_coming(&self) -> bool {
        !self.sub.starts_with("auto-restart") && (self.has_job || self.active == "activating")
    }
}

/// `systemd: failed (failed), exit-code`
impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.load == "not-found" {
            return f.write_str("systemd knows no such unit");
        }
        write!(f, "systemd: {} ({})", self.active, self.sub)?;
        match self.result.as_str() {
            "" | "success" => Ok(()),
            result => write!(f, ", {result}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(active: &str, sub: &str, pid: u32, job: &str) -> State {
        let text =
            format!("MainPID={pid}\nResult=success\nLoadState=loaded\nActiveState={active}\nSubState={sub}\n{job}");
        State::parse(&text).unwrap()
    }

    #[test]
    fn which_units_run_come_or_are_gone() {
        for (active, sub, pid, job, unsettled, coming) in [
            ("active", "running", 7, "", false, false),
            ("active", "running", 7, "Job=12", true, true),
            ("reloading", "reload", 7, "", false, false),
            ("activating", "start", 7, "", true, true),
            ("deactivating", "stop-sigterm", 7, "", true, false),
            ("activating", "start-pre", 0, "", true, true),
            ("activating", "auto-restart", 0, "", true, false),
            ("activating", "auto-restart-queued", 0, "Job=12", true, false),
            ("inactive", "dead", 0, "Job=12", true, true),
            ("inactive", "dead", 0, "", true, false),
            ("failed", "failed", 0, "", true, false),
        ] {
            let state = state(active, sub, pid, job);
            assert_eq!(state.process, (pid != 0).then_some(pid));
            assert_eq!((state.unsettled().is_some(), state.is_coming()), (unsettled, coming), "{state:?}");
        }
    }

    #[test]
    fn words_for_people() {
        let failed = "MainPID=0\nResult=exit-code\nLoadState=loaded\nActiveState=failed\nSubState=failed\n";
        assert_eq!(State::parse(failed).unwrap().to_string(), "systemd: failed (failed), exit-code");
        let unknown = "MainPID=0\nResult=success\nLoadState=not-found\nActiveState=inactive\nSubState=dead\n";
        assert_eq!(State::parse(unknown).unwrap().to_string(), "systemd knows no such unit");
        assert_eq!(State::parse("ActiveState=active\n"), None);
    }
}
