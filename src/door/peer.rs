//! Facts about the other end of a connection, read once when it is made.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use credgate_provider::Detail;
use x509_parser::{extensions::GeneralName, prelude::*};

use crate::principal::San;

/// The other end.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// The names in its certificate; none without one.
    pub names: Vec<San>,
    /// Begin and end of its certificate's validity.
    pub validity: Option<(SystemTime, SystemTime)>,
}

/// What we read of a certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// DNS names and URIs.
    pub names: Vec<San>,
    /// Begin and end of validity.
    pub validity: (SystemTime, SystemTime),
}

impl Peer {
    /// A peer that showed `certificate`, if any.
    pub fn new(address: IpAddr, certificate: Option<&[u8]>) -> Self {
        // rustls has verified it; what x509-parser cannot read has no name and no validity, and so belongs to nobody.
        match certificate.and_then(Certificate::parse) {
            Some(Certificate { names, validity }) => Self { address, names, validity: Some(validity) },
            None => Self { address, names: Vec::new(), validity: None },
        }
    }

    /// The names in its certificate for the log, bounded: a certificate has room for thousands.
    pub fn described(&self) -> Detail {
        Detail::new(format_args!("{:?}", self.names))
    }

    /// Whether it has a certificate that is valid at `now`. Asked on every call, so that a connection does not outlive
    /// its certificate.
    pub fn certificate_valid(&self, now: SystemTime) -> bool {
        self.validity.is_some_and(|(begin, end)| begin <= now && now <= end)
    }
}

impl Certificate {
    /// Reads DER.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = match certificate.subject_alternative_name() {
            Ok(Some(extension)) => extension.value.general_names.iter().filter_map(san).collect(),
            _ => Vec::new(),
        };
        let validity = certificate.validity();
        Some(Self { names, validity: (time(&validity.not_before)?, time(&validity.not_after)?) })
    }
}

/// Whose certificate it says it is, and who it says issued it: for the log, since nothing of it is to be believed.
pub(super) fn describe(der: &[u8]) -> Detail {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return "not readable as X.509".into() };
    let names: Vec<San> = match certificate.subject_alternative_name() {
        Ok(Some(extension)) => extension.value.general_names.iter().filter_map(san).collect(),
        _ => Vec::new(),
    };
    // Each has its own room, so that none can push another out of the line.
    let name = |san: &San| match san {
        San::Dns(name) => format!(", DNS {name}"),
        San::Uri(uri) => format!(", URI {uri}"),
    };
    let names: String = names.iter().map(name).collect();
    let [subject, issuer] = [certificate.subject(), certificate.issuer()].map(|name| short(&name.to_string()));
    Detail::new(format_args!("{subject}{}, issued by {issuer}", short(&names)))
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// In characters; three of them fit in a [`Detail`].
const LONGEST_NAME: usize = 90;

fn san(name: &GeneralName<'_>) -> Option<San> {
    match name {
        GeneralName::DNSName(name) => Some(San::Dns((*name).to_owned())),
        GeneralName::URI(uri) => Some(San::Uri((*uri).to_owned())),
        _ => None,
    }
}

fn time(time: &ASN1Time) -> Option<SystemTime> {
    let seconds = time.timestamp();
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    }
}
