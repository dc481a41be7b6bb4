//! What was read from where, so that a file that no longer holds what was loaded can be told.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf, absolute},
};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::FileError;

/// One file as it was when it was read: where, which version, and a digest of its content.
#[derive(Clone, Debug)]
pub struct Loaded {
    path: PathBuf,
    /// The same file after the process has changed its folder, as a plugin may.
    absolute: PathBuf,
    stamp: Stamp,
    digest: [u8; 32],
    world_readable: bool,
}

/// What stands on disk now, against what was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The same content.
    Same,
    /// Another content.
    Differs,
    /// Gone, or no longer readable.
    Gone,
}

/// Reads a file whole and remembers which version of it was read.
pub fn read(path: &Path) -> Result<(Zeroizing<Vec<u8>>, Loaded), FileError> {
    let (bytes, metadata) = read_with_metadata(path).map_err(|source| FileError::unreadable(path, source))?;
    let loaded = Loaded {
        path: path.to_owned(),
        absolute: absolute(path).unwrap_or_else(|_| path.to_owned()),
        stamp: Stamp::of(&metadata),
        digest: Sha256::digest(&bytes[..]).into(),
        world_readable: metadata.mode() & 0o004 != 0,
    };
    Ok((bytes, loaded))
}

impl Loaded {
    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether every user of the host may read it.
    pub fn world_readable(&self) -> bool {
        self.world_readable
    }

    /// Compares with what stands on disk now. The content is read again only when the file's stamp has changed, so a
    /// touch or a rewrite with the same content is no difference.
    pub fn state(&self) -> FileState {
        match fs::metadata(&self.absolute) {
            Ok(metadata) if Stamp::of(&metadata) == self.stamp => FileState::Same,
            Ok(_) => match read_with_metadata(&self.absolute) {
                Ok((bytes, _)) if Sha256::digest(&bytes[..])[..] == self.digest => FileState::Same,
                Ok(_) => FileState::Differs,
                Err(_) => FileState::Gone,
            },
            Err(_) => FileState::Gone,
        }
    }
}

/// The facts of a file that change whenever its content is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// The metadata are those of the opened file, so a rename in between cannot pair one file's stamp with another's bytes.
fn read_with_metadata(path: &Path) -> io::Result<(Zeroizing<Vec<u8>>, Metadata)> {
    // Asked before opening, too: opening a pipe waits for somebody to write.
    regular(fs::metadata(path)?)?;
    let mut file = File::open(path)?;
    let metadata = regular(file.metadata()?)?;
    // One allocation of the right size: growing would leave unwiped copies of a secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1));
    file.read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

fn regular(metadata: Metadata) -> io::Result<Metadata> {
    if metadata.is_file() { Ok(metadata) } else { Err(io::Error::other("not a regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_with_the_same_content_is_no_difference() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "one").unwrap();
        let (bytes, loaded) = read(&path).unwrap();
        assert_eq!((&bytes[..], loaded.state()), (&b"one"[..], FileState::Same));

        fs::remove_file(&path).unwrap();
        assert_eq!(loaded.state(), FileState::Gone);
        fs::write(&path, "one").unwrap();
        assert_eq!(loaded.state(), FileState::Same);
        fs::write(&path, "two").unwrap();
        assert_eq!(loaded.state(), FileState::Differs);
    }

    #[test]
    fn a_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).unwrap_err().to_string().contains("not a regular file"));
    }
}
