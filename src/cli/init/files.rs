//! Writes the files of a new deployment: private ones for their owner alone, and never over anything.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::InitError;

/// The folder.
pub struct Files<'a>(&'a Path);

impl<'a> Files<'a> {
    /// Makes the folder, or takes an empty one.
    pub fn in_new(dir: &'a Path) -> Result<Self, InitError> {
        let failed = |source| InitError::File { path: dir.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        match fs::read_dir(dir).map_err(failed)?.next() {
            None => Ok(Self(dir)),
            Some(_) => Err(InitError::NotEmpty(dir.to_owned())),
        }
    }

    /// A file that others may read.
    pub fn public(&self, name: &str, content: &str) -> Result<(), InitError> {
        self.write(name, content, 0o644)
    }

    /// A file with a secret in it.
    pub fn private(&self, name: &str, content: &str) -> Result<(), InitError> {
        self.write(name, content, 0o600)
    }

    /// Where a file of that name stands.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, content: &str, mode: u32) -> Result<(), InitError> {
        let path = self.path(name);
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let written = file.and_then(|mut file| file.write_all(content.as_bytes()));
        written.map_err(|source| InitError::File { path, source })
    }
}
