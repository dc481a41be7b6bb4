//! An issued certificate with its chain and key, and the ways to hand out a wrong combination of them.

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate chain, leaf first, and the private key that should belong to it.
#[derive(Clone)]
pub struct Issued {
    chain: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
}

/// Where a chain and its key were written.
#[derive(Clone, Debug)]
pub struct Files {
    /// PEM, the leaf first.
    pub cert: PathBuf,
    /// PEM (PKCS#8), mode 0600.
    pub key: PathBuf,
}

impl Issued {
    pub(super) fn new(chain: Vec<CertificateDer<'static>>, key: Vec<u8>) -> Self {
        Self { chain, key }
    }

    /// The chain, leaf first unless [`Issued::reversed`].
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    /// The private key.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.clone()).into()
    }

    /// The same chain in the wrong order.
    pub fn reversed(mut self) -> Self {
        self.chain.reverse();
        self
    }

    /// The leaf alone, its intermediates forgotten.
    pub fn leaf_only(mut self) -> Self {
        self.chain.truncate(1);
        self
    }

    /// This chain with somebody else's key.
    pub fn with_key_of(mut self, other: &Self) -> Self {
        self.key.clone_from(&other.key);
        self
    }

    /// The chain in PEM form.
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(|der| pem("CERTIFICATE", der)).collect()
    }

    /// The key in PEM form.
    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key)
    }

    /// Writes `DIR/NAME.pem` and `DIR/NAME.key`, replacing what stands there.
    pub fn write(&self, dir: &Path, name: &str) -> Files {
        let files = Files { cert: dir.join(format!("{name}.pem")), key: dir.join(format!("{name}.key")) };
        fs::write(&files.cert, self.chain_pem()).unwrap();
        write_private(&files.key, self.key_pem().as_bytes());
        files
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(content).unwrap();
}

/// RFC 7468: lines of 64 characters.
fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
