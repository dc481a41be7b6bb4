//! The local files that hold certificates, keys, secrets and nodes: one reader, one set of sentences.
//!
//! Decides what a usable file is and says in one sentence what is wrong with any other. Gateway, probe and client share
//! it, so that a token file is judged the same way at both ends. No error and no `Debug` of this crate shows content.

mod loaded;
mod pem;
mod secret;

pub use loaded::{FileState, Loaded, read};
pub use pem::{Certificates, PrivateKey, read_certificates, read_key};
pub use secret::{Secret, TOKEN_LENGTH, read_secret, read_token};

use std::{
    io,
    path::{Path, PathBuf},
};

/// What is wrong with a file, without showing anything that stands in it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct FileError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// The sentence.
    pub fault: Fault,
}

/// The fault itself, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system refused to open or read it.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It was read, and its content will not do.
    #[error("{0}")]
    Content(String),
}

impl FileError {
    fn unreadable(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), fault: Fault::Unreadable(source) }
    }

    fn content(path: &Path, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), fault: Fault::Content(text.into()) }
    }
}
