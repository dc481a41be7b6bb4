//! `credgate token new`: a bearer token and the digest that the gateway knows it by.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::{Args, Subcommand};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{
    Exit,
    print::{err, out},
};

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a new token: give it to one client, and its digest to the gateway
    New(New),
}

#[derive(Args, Debug)]
pub struct New {
    /// Write the token to this new file (mode 0600) instead of printing it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// How a token begins, so that one that leaked into a log or a repository can be searched for.
const PREFIX: &str = "credgate_";

impl Token {
    pub fn run(self) -> Exit {
        let Self::New(New { token_file }) = self;
        let token = match new() {
            Ok(token) => token,
            Err(error) => {
                err!("credgate: the system gives no randomness: {error}");
                return Exit::Failure;
            }
        };
        match token_file {
            None => out!("token  {}", *token),
            Some(path) => {
                if let Err(error) = write_private(&path, format!("{}\n", *token).as_bytes()) {
                    err!("credgate: {}: {error}", path.display());
                    return Exit::Failure;
                }
                out!("token  written to {}", path.display());
            }
        }
        out!("sha256 {}", digest(&token));
        Exit::Clean
    }
}

/// A token of 256 random bits: enough that a plain SHA-256 of it tells nothing.
pub fn new() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut bits = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bits)?;
    Ok(Zeroizing::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(*bits))))
}

/// The digest as `token_sha256` takes it.
pub fn digest(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a file that only its owner may read. An existing one is not overwritten.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content)
}
