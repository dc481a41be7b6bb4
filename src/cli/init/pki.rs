//! A private CA and the certificates of a deployment to try: P-256, one year.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

/// The CA.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM form.
pub struct Pair {
    pub name: &'static str,
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Result<Self, rcgen::Error> {
        let mut params = params("credgate trial CA", Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    pub fn key(&self) -> String {
        self.0.key().serialize_pem()
    }

    /// For both listeners, on loopback and under these names.
    pub fn server(&self, names: &[String]) -> Result<Pair, rcgen::Error> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(names.iter().cloned());
        self.issue("server", names.collect(), ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// For one client, named `<name>.credgate.test` (RFC 6761 keeps `.test` free).
    pub fn client(&self, name: &'static str) -> Result<Pair, rcgen::Error> {
        self.issue(name, vec![format!("{name}.credgate.test")], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        name: &'static str,
        names: Vec<String>,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Pair, rcgen::Error> {
        let mut params = params(name, names)?;
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok(Pair { name, certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn params(common_name: &str, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    // An hour back, for clocks that differ.
    params.not_before = OffsetDateTime::now_utc() - Duration::hours(1);
    params.not_after = OffsetDateTime::now_utc() + Duration::days(365);
    Ok(params)
}
