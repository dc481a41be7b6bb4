//! A claim file: who replaces what on this host. Lines `UNIT HOLDER`, shared by everybody who replaces something.
//!
//! The release is a commit: it compares the file with what was read and swaps it only when they are equal, under a lock
//! on `FILE.lock`. After a lost race it is made again on the new content; whatever else fails is reported as it is.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{Mode, OFlags};
use tokio::time::sleep;

/// Claims that are held.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// The file when it was read last.
    read: String,
    /// The lines to take out, as they were at first.
    lines: Vec<String>,
}

/// Why a claim is not held or not released.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// No line, or more than one, for a unit.
    #[error("{}: {count} claims of {unit}, instead of one", path.display())]
    Count {
        /// The claim file.
        path: PathBuf,
        /// The unit.
        unit: String,
        /// Lines that name it.
        count: usize,
    },
    /// Somebody has taken the claim out, or holds it now.
    #[error("{}: the claim that was '{line}' is not there any more", path.display())]
    Lost {
        /// The claim file.
        path: PathBuf,
        /// What stood there.
        line: String,
    },
    /// The file, or one beside it.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What became of a swap.
enum Swap {
    Done,
    /// Another's change came first.
    LostRace,
    /// Somebody holds the lock.
    Locked,
}

impl Claim {
    /// Finds the line of each unit.
    pub fn held(path: &Path, units: &[&str]) -> Result<Self, ClaimError> {
        // A link stays one: the file behind it is replaced.
        let path = fs::canonicalize(path).map_err(|source| ClaimError::File { path: path.to_owned(), source })?;
        let read = read(&path)?;
        let line = |unit: &&str| {
            let lines: Vec<&str> = claims(&read).filter(|line| line.split_whitespace().next() == Some(unit)).collect();
            match lines[..] {
                [line] => Ok(line.to_owned()),
                _ => Err(ClaimError::Count { path: path.clone(), unit: (*unit).to_owned(), count: lines.len() }),
            }
        };
        let lines = units.iter().map(line).collect::<Result<_, _>>()?;
        Ok(Self { path, read, lines })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lines out.
    pub async fn release(mut self, tell: impl Fn(&str)) -> Result<(), ClaimError> {
        let mut has_told = false;
        loop {
            match self.swap(&self.without()?)? {
                Swap::Done => return Ok(()),
                Swap::LostRace => {
                    tell(&format!("{} has changed meanwhile; the claim is released again", self.path.display()));
                    self.read = read(&self.path)?;
                }
                Swap::Locked => {
                    if !has_told {
                        tell(&format!("{} is locked; waiting for it", self.lock_path().display()));
                        has_told = true;
                    }
                    sleep(LOCK_PAUSE).await;
                }
            }
        }
    }

    /// What was read, without the claims.
    fn without(&self) -> Result<String, ClaimError> {
        if let Some(line) = self.lines.iter().find(|line| !claims(&self.read).any(|one| one == *line)) {
            return Err(ClaimError::Lost { path: self.path.clone(), line: line.clone() });
        }
        let stays = |line: &&str| !self.lines.iter().any(|claim| claim == line.trim_end_matches(['\n', '\r']));
        Ok(self.read.split_inclusive('\n').filter(stays).collect())
    }

    /// Puts `new` in the file's place, if the file is still what was read.
    fn swap(&self, new: &str) -> Result<Swap, ClaimError> {
        let path = self.lock_path();
        let at = |path: &Path| {
            let path = path.to_owned();
            |source| ClaimError::File { path, source }
        };
        let lock = lock_file(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Swap::Locked),
            Err(TryLockError::Error(source)) => return Err(ClaimError::File { path, source }),
        }
        if read(&self.path)? != self.read {
            return Ok(Swap::LostRace);
        }
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        self.write(&beside, new).map_err(at(&beside))?;
        fs::rename(&beside, &self.path).map_err(at(&self.path))?;
        Ok(Swap::Done)
    }

    /// With the owner and the mode of the file, whole on disk before it takes the file's place. Made anew each time: behind
    /// a link that somebody has left there, another's file would be overwritten and given away.
    fn write(&self, beside: &Path, text: &str) -> io::Result<()> {
        let data = fs::metadata(&self.path)?;
        match fs::remove_file(beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(beside)?;
        file.set_permissions(Permissions::from_mode(data.mode() & 0o777))?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (data.uid(), data.gid()) {
            fchown(&file, Some(data.uid()), Some(data.gid()))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn lock_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        path.into()
    }
}

/// A link is no lock file: it would be made wherever that leads.
fn lock_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?.into())
}

fn read(path: &Path) -> Result<String, ClaimError> {
    fs::read_to_string(path).map_err(|source| ClaimError::File { path: path.to_owned(), source })
}

/// The lines that are claims.
fn claims(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

const LOCK_PAUSE: Duration = Duration::from_millis(50);
