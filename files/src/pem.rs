//! Certificates and private keys in PEM form (RFC 7468).

use std::{fmt, path::Path};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject};

use crate::{FileError, Loaded, loaded::read};

/// The certificates of one file, in its order; never empty.
#[derive(Debug)]
pub struct Certificates {
    /// DER of each.
    pub chain: Vec<CertificateDer<'static>>,
    /// The file they came from.
    pub loaded: Loaded,
}

/// One private key.
pub struct PrivateKey {
    /// DER, wiped when dropped.
    pub der: PrivateKeyDer<'static>,
    /// The file it came from.
    pub loaded: Loaded,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("path", &self.loaded.path()).finish_non_exhaustive()
    }
}

/// Reads every certificate of a file.
pub fn read_certificates(path: &Path) -> Result<Certificates, FileError> {
    let (bytes, loaded) = read(path)?;
    let chain = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| FileError::content(path, broken(&error)))?;
    if chain.is_empty() {
        let found = if holds_key(&bytes) { "it holds a private key" } else { "no PEM block of that kind is in it" };
        return Err(FileError::content(path, format!("holds no certificate in PEM form; {found}")));
    }
    Ok(Certificates { chain, loaded })
}

/// Reads the first private key of a file (PKCS#8, SEC1 or PKCS#1, not encrypted).
pub fn read_key(path: &Path) -> Result<PrivateKey, FileError> {
    let (bytes, loaded) = read(path)?;
    match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(der) => Ok(PrivateKey { der, loaded }),
        // The header of RFC 1421 reads like damaged base64.
        Err(_) if contains(&bytes, b"Proc-Type: 4,ENCRYPTED") => Err(FileError::content(path, ENCRYPTED)),
        Err(pem::Error::NoItemsFound) => Err(FileError::content(path, no_key(&bytes))),
        Err(error) => Err(FileError::content(path, broken(&error))),
    }
}

fn no_key(bytes: &[u8]) -> &'static str {
    if contains(bytes, b"ENCRYPTED PRIVATE KEY") {
        ENCRYPTED
    } else if contains(bytes, b"BEGIN CERTIFICATE") {
        "holds a certificate and no private key; are `cert` and `key` swapped?"
    } else {
        "holds no private key in PEM form"
    }
}

/// The library's own text could quote the file, so only the kind of damage is told.
fn broken(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "has a PEM block without its END line; is the file cut off?",
        pem::Error::Base64Decode(_) => "has a PEM block that is not base64",
        pem::Error::IllegalSectionStart { .. } => "has a malformed BEGIN line",
        _ => "is not a PEM file that can be read",
    }
}

fn holds_key(bytes: &[u8]) -> bool {
    contains(bytes, b"PRIVATE KEY-----")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

const ENCRYPTED: &str = "holds an encrypted private key; decrypt it first (openssl pkey -in … -out …)";
