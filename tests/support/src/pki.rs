//! A certificate authority made per run, and every kind of certificate a gateway or a client must refuse.
//!
//! ```
//! use credgate_support::pki::{Ca, Leaf};
//! let dir = tempfile::tempdir().unwrap();
//! let ca = Ca::new("test CA");
//! let server = ca.issue(&Leaf::server().dns("localhost").ip([127, 0, 0, 1]));
//! let files = server.write(dir.path(), "server");
//! assert!(files.cert.ends_with("server.pem") && files.key.ends_with("server.key"));
//! ```

mod issued;
mod leaf;
mod tls;
mod token;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use time::{Duration, OffsetDateTime};

pub(crate) use issued::write_private;
pub use issued::{Files, Issued};
pub use leaf::{Leaf, Purpose};
pub use tls::{client_config, provider, server_config};
pub use token::Token;

/// A root or an intermediate authority with a P-256 key.
pub struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    key: Vec<u8>,
    /// From the nearest intermediate upwards, the root left out: what a server sends after its leaf.
    chain: Vec<CertificateDer<'static>>,
}

impl Ca {
    /// A root, valid from an hour ago for 400 days.
    pub fn new(name: &str) -> Self {
        Self::valid_for(name, Duration::days(400))
    }

    /// A root that ends `left` from now; negative for one that has ended.
    pub fn valid_for(name: &str, left: Duration) -> Self {
        let (params, key) = authority(name, left);
        let der = key.serialize_der();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer, key: der, chain: Vec::new() }
    }

    /// An authority below this one. What it issues carries its certificate in the chain.
    pub fn intermediate(&self, name: &str) -> Self {
        let (params, key) = authority(name, Duration::days(400));
        let der = key.serialize_der();
        let issuer = CertifiedIssuer::signed_by(params, key, &self.issuer).unwrap();
        let chain = [vec![issuer.der().clone()], self.chain.clone()].concat();
        Self { issuer, key: der, chain }
    }

    /// Issues a certificate with a key of its own.
    pub fn issue(&self, leaf: &Leaf) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate = leaf.params().signed_by(&key, &self.issuer).unwrap();
        Issued::new([vec![certificate.der().clone()], self.chain.clone()].concat(), key.serialize_der())
    }

    /// The authority itself, used as if it were a server or a client.
    pub fn as_leaf(&self) -> Issued {
        Issued::new(vec![self.issuer.der().clone()], self.key.clone())
    }

    /// Its certificate in PEM form.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Writes its certificate as `DIR/NAME.pem`.
    pub fn write(&self, dir: &Path, name: &str) -> PathBuf {
        let path = dir.join(format!("{name}.pem"));
        fs::write(&path, self.pem()).unwrap();
        path
    }

    /// A trust store that holds this authority alone.
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        roots
    }
}

impl fmt::Debug for Ca {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ca").finish_non_exhaustive()
    }
}

fn authority(name: &str, left: Duration) -> (CertificateParams, KeyPair) {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let end = OffsetDateTime::now_utc() + left;
    params.not_after = end;
    params.not_before = (OffsetDateTime::now_utc() - Duration::hours(1)).min(end - Duration::hours(1));
    (params, KeyPair::generate().unwrap())
}

#[cfg(test)]
mod tests;
