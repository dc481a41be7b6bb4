//! Who calls: a token, and with mTLS a certificate whose SAN belongs to it.

use std::path::{Path, PathBuf};

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

    /// The same identity with another client certificate, which is not written to a file.
    pub fn with_certificate(&self, certificate: Option<Issued>) -> Self {
        Self { certificate, files: None, ..self.clone() }
    }

    /// The same identity with another token, which is not written to a file.
    pub fn with_token(&self, token: Token) -> Self {
        Self { token, ..self.clone() }
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
