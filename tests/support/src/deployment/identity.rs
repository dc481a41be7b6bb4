//! Who calls: a token, and with mTLS a certificate whose SAN belongs to it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use toml::{Table, Value};

use super::Security;
use crate::pki::{Ca, Files, Issued, Leaf, Token};

/// One identity of the configuration and what its client holds.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name in the configuration.
    pub name: String,
    /// `registrar` or `probe`.
    pub role: String,
    /// The bearer token.
    pub token: Token,
    /// Where it stands.
    pub token_file: PathBuf,
    /// DNS name in the client certificate; `None` without mTLS.
    pub san: Option<String>,
    /// The client certificate; `None` without mTLS.
    pub certificate: Option<Issued>,
    /// Where it stands.
    pub files: Option<Files>,
}

impl Identity {
    /// Makes and writes token and, with mTLS, certificate `NAME.example.net`.
    pub fn new(name: &str, role: &str, security: Security, ca: &Ca, dir: &Path) -> Self {
        let token = Token::random();
        let token_file = token.write(dir, name);
        let san = (security == Security::Mtls).then(|| format!("{name}.example.net"));
        let certificate = san.as_ref().map(|san| ca.issue(&Leaf::client().common_name(name).dns(san)));
        let files = certificate.as_ref().map(|certificate| certificate.write(dir, name));
        Self { name: name.into(), role: role.into(), token, token_file, san, certificate, files }
    }

    /// The same identity with another client certificate, or none, in files of their own.
    pub fn with_certificate(&self, certificate: Option<Issued>) -> Self {
        let files = certificate.as_ref().map(|certificate| certificate.write(self.dir(), &self.another_name()));
        Self { certificate, files, ..self.clone() }
    }

    /// The same identity with another token, in a file of its own.
    pub fn with_token(&self, token: Token) -> Self {
        let token_file = token.write(self.dir(), &self.another_name());
        Self { token, token_file, ..self.clone() }
    }

    fn dir(&self) -> &Path {
        self.token_file.parent().unwrap()
    }

    fn another_name(&self) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        format!("{}-{}", self.name, NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Its `[[identity]]` table.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("name".into(), self.name.clone().into());
        table.insert("role".into(), self.role.clone().into());
        table.insert("token_sha256".into(), Value::Array(vec![self.token.digest().into()]));
        if let Some(san) = &self.san {
            table.insert("san".into(), Value::Array(vec![san.clone().into()]));
        }
        table
    }
}
