//! Bearer tokens of the form that `credgate token new` prints, and their digests.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::write_private;

/// A bearer token: `credgate_` and 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).unwrap();
        Self(format!("credgate_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The value of the `authorization` header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// What the gateway's configuration holds: SHA-256 in lower-case hex.
    pub fn digest(&self) -> String {
        Sha256::digest(self.0.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Writes `DIR/NAME.token` with one line ending, mode 0600.
    pub fn write(&self, dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(format!("{name}.token"));
        write_private(&path, format!("{}\n", self.0).as_bytes());
        path
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
