//! What a certificate says: names, purposes, time. Every deviation from a good one is one method.

use std::{net::IpAddr, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType,
    string::Ia5String,
};
use time::OffsetDateTime;

/// An extended key usage (RFC 5280, section 4.2.1.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// TLS server.
    Server,
    /// TLS client.
    Client,
    /// Code signing: right for nobody here.
    CodeSigning,
}

/// A certificate to be issued: valid from an hour ago for 400 days, unless said otherwise. The gateway warns below 30.
#[derive(Clone, Debug)]
pub struct Leaf {
    common_name: String,
    sans: Vec<SanType>,
    purposes: Vec<Purpose>,
    begin: OffsetDateTime,
    end: OffsetDateTime,
    authority: bool,
}

impl Leaf {
    /// For a TLS server; its names are still to be added.
    pub fn server() -> Self {
        Self::new(vec![Purpose::Server])
    }

    /// For a TLS client; its names are still to be added.
    pub fn client() -> Self {
        Self::new(vec![Purpose::Client])
    }

    fn new(purposes: Vec<Purpose>) -> Self {
        let now = OffsetDateTime::now_utc();
        let (begin, end) = (now - HOUR, now + DAY * 400);
        Self { common_name: "test leaf".into(), sans: Vec::new(), purposes, begin, end, authority: false }
    }

    /// The subject's common name, which nobody should look at.
    pub fn common_name(mut self, name: &str) -> Self {
        self.common_name = name.into();
        self
    }

    /// Adds a DNS name; wildcards are possible.
    pub fn dns(mut self, name: &str) -> Self {
        self.sans.push(SanType::DnsName(ia5(name)));
        self
    }

    /// Adds a URI.
    pub fn uri(mut self, uri: &str) -> Self {
        self.sans.push(SanType::URI(ia5(uri)));
        self
    }

    /// Adds an IP address.
    pub fn ip(mut self, address: impl Into<IpAddr>) -> Self {
        self.sans.push(SanType::IpAddress(address.into()));
        self
    }

    /// Sets the purposes; an empty list leaves the extension out.
    pub fn purposes(mut self, purposes: impl Into<Vec<Purpose>>) -> Self {
        self.purposes = purposes.into();
        self
    }

    /// Ended `ago` ago.
    pub fn expired(mut self, ago: Duration) -> Self {
        self.end = OffsetDateTime::now_utc() - ago;
        self.begin = self.end - DAY;
        self
    }

    /// Ends `left` from now. Certificates count whole seconds: the real end is up to one second earlier.
    pub fn expires_in(mut self, left: Duration) -> Self {
        self.end = OffsetDateTime::now_utc() + left;
        self
    }

    /// Begins `ahead` from now.
    pub fn not_yet_valid(mut self, ahead: Duration) -> Self {
        self.begin = OffsetDateTime::now_utc() + ahead;
        self.end = self.begin + DAY;
        self
    }

    /// Marks it as an authority (`CA:TRUE`).
    pub fn authority(mut self) -> Self {
        self.authority = true;
        self
    }

    pub(super) fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, self.common_name.as_str());
        params.subject_alt_names = self.sans.clone();
        params.not_before = self.begin;
        params.not_after = self.end;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = self.purposes.iter().map(|purpose| purpose.usage()).collect();
        if self.authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params
    }
}

impl Purpose {
    fn usage(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Self::Client => ExtendedKeyUsagePurpose::ClientAuth,
            Self::CodeSigning => ExtendedKeyUsagePurpose::CodeSigning,
        }
    }
}

fn ia5(text: &str) -> Ia5String {
    Ia5String::try_from(text).unwrap()
}

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
