//! The database file from outside: which file it is, and who may do what with it. Only asks the file system, and never
//! opens the file itself: closing it again would drop the locks that SQLite holds on it in this process (fcntl locks
//! belong to the process, see "How To Corrupt An SQLite Database File", section 2.2).

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustix::fs::{Access, access};

/// Tells one file from another of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    /// Where the file system knows it: inode numbers are given to new files at once.
    born: Option<SystemTime>,
}

impl FileId {
    /// Of the file that stands under this name now.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "not a regular file"));
        }
        Ok(Self { device: metadata.dev(), inode: metadata.ino(), born: metadata.created().ok() })
    }
}

/// The log of a database in WAL mode. SQLite names it after the file that a symbolic link points to.
pub(crate) fn log_of(path: &Path) -> Option<FileId> {
    let real = fs::canonicalize(path).ok()?;
    FileId::of(&beside(&real, "-wal")).ok()
}

/// `nodes.db-wal` beside `nodes.db`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// What is wrong with a name that is not a file.
pub(crate) fn missing(path: &Path, error: &io::Error) -> String {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{shown} does not exist: put it back or correct url; only for a first deployment, `credgate migrate` makes a new one"
        ),
        io::ErrorKind::IsADirectory => format!("{shown} is not a regular file"),
        io::ErrorKind::PermissionDenied => {
            format!("{shown} cannot be reached: a folder above it may not be entered by this user (chmod, chown)")
        }
        _ => format!("{shown} cannot be reached: {error}"),
    }
}

/// Why SQLite could not open a file that is there.
pub(crate) fn cannot_open(path: &Path) -> String {
    unreadable(path).unwrap_or_else(|| unwritable_folder(path))
}

/// What is wrong when this user may not read the database or what belongs to it. A connection that is open goes on
/// reading, so only this tells that no other one can be opened.
pub(crate) fn unreadable(path: &Path) -> Option<String> {
    let files = [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")];
    let locked = |file: &PathBuf| file.exists() && access(file, Access::READ_OK).is_err();
    let file = files.into_iter().find(locked)?;
    Some(format!("{} may not be read by this user (chmod, chown)", file.display()))
}

/// A database in WAL mode whose folder does not let a reader be one.
pub(crate) fn unwritable_folder(path: &Path) -> String {
    let (shown, folder) = (path.display(), path.parent().unwrap_or(path).display());
    format!(
        "{shown} is in WAL mode, and readers need {shown}-shm beside it: let this user write the folder {folder}, or \
         leave WAL mode (sqlite3 {shown} 'PRAGMA journal_mode=DELETE')"
    )
}
