//! The facts of this host: a unit's manager and the tables that show its process.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use rustix::fs::{Mode, OFlags};
use tokio::time::Instant;

use super::{Facts, Main, Process, Table, Tables, Trouble, launchd, systemd};

/// What a wait is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A service of a manager.
    Service(Manager, String),
    /// A process.
    Process(u32),
    /// The process whose number stands in a file.
    File(PathBuf),
}

/// Who starts services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Manager {
    /// systemd, asked with systemctl
    Systemd,
    /// launchd, asked with launchctl
    Launchd,
}

/// One unit on this host.
#[derive(Debug)]
pub struct Host {
    unit: Unit,
    tables: Tables,
    /// The manager's last word, when it named a process.
    word: Option<(Process, Main, Instant)>,
    /// The process that `--pid` meant at first.
    meant: Option<Process>,
}

impl Manager {
    /// What suits this system.
    pub const DEFAULT: Self = if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd };
}

impl Host {
    /// Facts about `unit`, looked up in `tables`.
    pub fn new(unit: Unit, tables: Tables) -> Self {
        Self { unit, tables, word: None, meant: None }
    }

    async fn service(&mut self, fresh: bool) -> Result<Main, Trouble> {
        let Unit::Service(manager, name) = &self.unit else { return Ok(Main::Gone("is no service".to_owned())) };
        if let Some((process, main, at)) = self.word.take_if(|_| !fresh)
            && at.elapsed() < WORD_HOLDS
            && self.tables.find(process.id).await?.as_ref() == Some(&process)
        {
            self.word = Some((process, main.clone(), at));
            return Ok(main);
        }
        let (id, unsettled, coming, word) = match manager {
            Manager::Systemd => {
                let state = systemd::ask(name).await?;
                (state.process, state.unsettled(), state.is_coming(), state.to_string())
            }
            Manager::Launchd => {
                let state = launchd::ask(name).await?;
                (state.process, state.unsettled(), false, state.to_string())
            }
        };
        let Some(id) = id else { return Ok(if coming { Main::Coming(word) } else { Main::Gone(word) }) };
        let Some(process) = self.tables.find(id).await? else {
            // The next word of the manager will be another, unless /proc hides the process from us.
            return Ok(Main::Coming(format!(
                "{word}, but its process {id} cannot be seen: it has just ended, or seeing it needs root"
            )));
        };
        let main = Main::Runs { process: process.clone(), unsettled };
        self.word = Some((process, main.clone(), Instant::now()));
        Ok(main)
    }

    async fn process(&mut self, id: u32) -> Result<Main, Trouble> {
        let Some(process) = self.tables.find(id).await? else {
            return Ok(Main::Gone("there is no such process".to_owned()));
        };
        if *self.meant.get_or_insert_with(|| process.clone()) != process {
            return Ok(Main::Gone("another process has its number now".to_owned()));
        }
        Ok(Main::Runs { process, unsettled: None })
    }

    async fn file(&self, path: &Path) -> Result<Main, Trouble> {
        let text = match beginning(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Main::Gone("there is no such file".to_owned()));
            }
            Err(error) => return Err(Trouble::Refused(format!("the file cannot be read: {error}"))),
        };
        let Ok(id) = text.trim().parse::<u32>() else {
            // It may be just being written.
            return Err(Trouble::Refused("the file does not hold a process number".to_owned()));
        };
        match self.tables.find(id).await? {
            Some(process) => Ok(Main::Runs { process, unsettled: None }),
            None => Ok(Main::Gone(format!("there is no process {id}"))),
        }
    }
}

impl Facts for Host {
    async fn main(&mut self, fresh: bool) -> Result<Main, Trouble> {
        match self.unit.clone() {
            Unit::Service(..) => self.service(fresh).await,
            Unit::Process(id) => self.process(id).await,
            Unit::File(path) => self.file(&path).await,
        }
    }

    async fn sockets(&mut self, process: &Process, connections: bool) -> Result<Table, Trouble> {
        self.tables.sockets(process, connections).await
    }
}

/// As sentences begin: `unit credgate-a`, `process 4242`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(_, name) => write!(f, "unit {name}"),
            Self::Process(id) => write!(f, "process {id}"),
            Self::File(path) => write!(f, "the process of {}", path.display()),
        }
    }
}

/// As much of a file as a number can need. It is the unit's own, so it may be anything: a pipe that nobody writes to must
/// not hold the wait and its signals up.
fn beginning(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    file.take(LONGEST_NUMBER).read_to_string(&mut text)?;
    Ok(text)
}

/// In bytes, blanks around it included.
const LONGEST_NUMBER: u64 = 64;

/// A manager is asked at least this often. In between its process tells by itself whether it still runs, and asking
/// costs a program start.
const WORD_HOLDS: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_that_is_none_holds_nothing_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for none in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert_eq!(beginning(none).unwrap_err().to_string(), "it is no regular file", "{}", none.display());
        }
        let long = folder.path().join("long");
        std::fs::write(&long, "1".repeat(100_000)).unwrap();
        assert_eq!(beginning(&long).unwrap().len(), 64);
    }
}
