//! A certificate authority made per test, and the files of both sides.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use credgate_files::{read_certificates, read_key};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::{RootCertStore, ServerConfig, crypto::ring, server::WebPkiClientVerifier};

/// What no output may show.
pub const TOKEN: &str = "cgt_canary_0123456789abcdef0123456789abcdef";

pub struct Pki {
    dir: tempfile::TempDir,
    ca: CertifiedIssuer<'static, KeyPair>,
}

impl Pki {
    /// Files: `ca.pem`, `other-ca.pem`, `token`, `wrong-token`; certificates `server` (for 127.0.0.1, [::1] and
    /// localhost) and `client`.
    pub fn new() -> Self {
        Self::named("test CA")
    }

    /// The same below an authority of that name.
    pub fn named(authority_name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = authority(authority_name);
        fs::write(dir.path().join("ca.pem"), ca.pem()).unwrap();
        fs::write(dir.path().join("other-ca.pem"), authority("another CA").pem()).unwrap();
        fs::write(dir.path().join("token"), format!("{TOKEN}\n")).unwrap();
        fs::write(dir.path().join("wrong-token"), TOKEN.replace("0123", "4567")).unwrap();
        let pki = Self { dir, ca };
        pki.issue("server", &["127.0.0.1", "::1", "localhost"], 2400);
        pki.issue("client", &["registrar.example.net"], 2400);
        pki
    }

    /// Writes `NAME.pem` and `NAME.key`, valid from 2020 to the given year.
    pub fn issue(&self, name: &str, names: &[&str], until: i32) {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.ca).unwrap();
        fs::write(self.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// TLS with the certificate `name`; with `mutual`, a client certificate of the same CA is required.
    pub fn server(&self, name: &str, mutual: bool) -> ServerConfig {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.unwrap();
        let chain = read_certificates(&self.file(&format!("{name}.pem"))).unwrap().chain;
        let key = read_key(&self.file(&format!("{name}.key"))).unwrap().der;
        let builder = if mutual {
            let mut roots = RootCertStore::empty();
            roots.add(self.ca.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
