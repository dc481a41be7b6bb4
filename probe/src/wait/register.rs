//! The register of open waits: one file for each, named after its process, gone when the wait is.
//!
//! A process that was killed leaves its file behind; `credgate-probe waits` drops it. The name holds when the process
//! began, so that a later one with its number is not taken for it.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{self, ExitCode},
    time::SystemTime,
};

use clap::{Args, Parser};

use crate::{
    facts::{Process, Tables, Trouble},
    misused, say,
};

/// Where the register is.
#[derive(Args, Clone, Debug)]
pub struct RuntimeDir {
    /// Folder of the register of waits [default: /run/credgate for root, else $XDG_RUNTIME_DIR/credgate]
    #[arg(long, value_name = "DIR", env = "CREDGATE_RUNTIME_DIR", hide_env = true)]
    runtime_dir: Option<PathBuf>,
}

/// List the open waits of this host, and drop those whose process has died
#[derive(Debug, Parser)]
#[command(name = "credgate-probe waits", bin_name = "credgate-probe waits", disable_version_flag = true, after_help = WAITS)]
struct Arguments {
    #[command(flatten)]
    runtime_dir: RuntimeDir,
}

/// A wait's own file; dropped, it is gone.
#[derive(Debug)]
pub struct Record(PathBuf);

/// The register cannot be used.
#[derive(Debug)]
pub struct Unusable {
    path: PathBuf,
    cause: String,
}

/// The command `waits`.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return misused(&error),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return say::failed(&format!("credgate-probe: the system gives no runtime: {error}")),
    };
    match runtime.block_on(list(&arguments.runtime_dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => say::failed(&format!("credgate-probe: {error}")),
    }
}

impl RuntimeDir {
    fn waits(&self) -> Result<PathBuf, Unusable> {
        let xdg = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute());
        let dir = match (&self.runtime_dir, rustix::process::geteuid().is_root(), xdg) {
            (Some(given), ..) => given.clone(),
            (None, true, _) => "/run/credgate".into(),
            (None, false, Some(xdg)) => Path::new(&xdg).join("credgate"),
            (None, false, None) => {
                let cause = "XDG_RUNTIME_DIR is not set; name a folder with --runtime-dir".to_owned();
                return Err(Unusable { path: "(no folder)".into(), cause });
            }
        };
        Ok(dir.join("waits"))
    }
}

impl Record {
    /// Puts this process down with its targets.
    pub async fn enter(dir: &RuntimeDir, targets: impl Iterator<Item = String>) -> Result<Self, Unusable> {
        let dir = dir.waits()?;
        let own = Tables::DEFAULT.find(process::id()).await;
        let own = own.ok().flatten().ok_or_else(|| unusable(&dir, "this process cannot be looked up"))?;
        fs::create_dir_all(&dir).map_err(|error| unusable(&dir, error))?;
        let path = dir.join(name(&own));
        let text: String = targets.map(|target| format!("{}\n", say::plain(&target))).collect();
        // Under another name first, so that nobody reads half a file; dropped with the process's record if it stays.
        let half = dir.join(format!("{}{HALF}", name(&own)));
        let record = Self(path);
        let write = || {
            // What lies there already is not ours: perhaps a link to a file of somebody.
            File::create_new(&half)?.write_all(text.as_bytes())?;
            fs::rename(&half, &record.0)
        };
        write().map_err(|error| unusable(&half, error))?;
        Ok(record)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// One line for each wait; the files of the dead go.
async fn list(dir: &RuntimeDir) -> Result<(), Unusable> {
    let dir = dir.waits()?;
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(&dir, error)),
    };
    let mut waits = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unusable(&dir, error))?.path();
        let Some(process) = path.file_name().and_then(|name| name.to_str()).and_then(owner) else { continue };
        let now = Tables::DEFAULT.find(process.id).await.map_err(|trouble: Trouble| unusable(&path, trouble))?;
        if now.map(|now| name(&now)) != Some(name(&process)) {
            forget(&path)?;
        } else if let Some(line) = described(&process, &path)? {
            waits.push((process.id, line));
        }
    }
    waits.sort_unstable();
    for (_, line) in waits {
        let _ = writeln!(io::stdout(), "{line}");
    }
    Ok(())
}

/// `None` when the wait has just ended, or is just being put down.
fn described(process: &Process, path: &Path) -> Result<Option<String>, Unusable> {
    if path.to_str().is_some_and(|path| path.ends_with(HALF)) {
        return Ok(None);
    }
    let read = fs::metadata(path).and_then(|data| Ok((data.modified()?, fs::read_to_string(path)?)));
    let (since, text) = match read {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(path, error)),
    };
    let age = SystemTime::now().duration_since(since).unwrap_or_default();
    let age = humantime::format_duration(std::time::Duration::from_secs(age.as_secs()));
    let targets: Vec<String> = text.lines().map(say::plain).collect();
    Ok(Some(format!("process {} waits {age} for {}", process.id, targets.join("; "))))
}

fn forget(path: &Path) -> Result<(), Unusable> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(path, error)),
        _ => Ok(()),
    }
}

/// `4242-987654.wait`
fn name(process: &Process) -> String {
    format!("{}-{}.wait", process.id, process.start.replace([' ', ':', '/'], "_"))
}

/// Whose record a file is, from its name.
fn owner(file: &str) -> Option<Process> {
    let (id, start) = file.strip_suffix(HALF).unwrap_or(file).strip_suffix(".wait")?.split_once('-')?;
    Some(Process { id: id.parse().ok()?, start: start.to_owned() })
}

fn unusable(path: &Path, cause: impl ToString) -> Unusable {
    Unusable { path: path.to_owned(), cause: cause.to_string() }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "register of waits: {}: {}", self.path.display(), self.cause)
    }
}

const HALF: &str = ".half";

const WAITS: &str = "\
One line for each wait: its process, how long it has lasted, its targets. Nothing
is printed when there is none. A file of the register whose process has died is
removed.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_process() {
        let process = |start: &str| Process { id: 4242, start: start.to_owned() };
        assert_eq!(name(&process("987654")), "4242-987654.wait");
        assert_eq!(owner("4242-987654.wait"), Some(process("987654")));
        assert_eq!(owner("4242-987654.wait.half"), Some(process("987654")));
        // Darwin: the blanks and colons of a date.
        assert_eq!(name(&process("Mon Nov 30 00:06:45 2026")), "4242-Mon_Nov_30_00_06_45_2026.wait");
        for other in ["notes", "4242.wait", "x-1.wait", "4242-1.wait.old", ".wait"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
