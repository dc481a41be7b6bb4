//! Who calls: the bearer token and the client certificate against the configured identities.
//!
//! Knows tokens only by their SHA-256 digest, and tells its caller of a refusal only that it was one: the cause goes to
//! the log and the metrics.

use std::time::SystemTime;

use http::{HeaderMap, header::AUTHORIZATION};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::door::Peer;

/// What an identity may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Lookups and health.
    Registrar,
    /// Health only.
    Probe,
}

/// An authenticated caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Its place among the configured identities.
    pub index: usize,
    /// What it may do.
    pub role: Role,
}

/// Why authentication failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No authorization header, or more than one.
    #[error("no single authorization header")]
    NoToken,
    /// Not `Bearer <token>`, or too long to be one.
    #[error("malformed authorization header")]
    Malformed,
    /// No identity has this token.
    #[error("unknown token")]
    UnknownToken,
    /// The client certificate's validity has not begun or is over.
    #[error("client certificate out of its validity")]
    CertificateExpired,
    /// The client certificate names another identity than the token.
    #[error("client certificate does not belong to the token's identity")]
    OtherIdentity,
}

/// A probe asked for a credential.
#[derive(Clone, Copy, Debug)]
pub struct Forbidden;

/// A name in a certificate (subjectAltName, RFC 5280 section 4.2.1.6), compared exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum San {
    /// dNSName.
    Dns(String),
    /// uniformResourceIdentifier.
    Uri(String),
}

/// One configured identity.
#[derive(Clone, Debug)]
pub struct Identity {
    /// For the log.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// SHA-256 of each of its tokens.
    pub tokens: Vec<[u8; 32]>,
    /// Names of its certificates; empty without mTLS.
    pub sans: Vec<San>,
}

/// All configured identities.
#[derive(Debug)]
pub struct Identities {
    identities: Vec<Identity>,
    /// Digest and the identity it belongs to.
    digests: Vec<(Words, u32)>,
    /// Whether client certificates are mandatory.
    certificates: bool,
}

/// Longest authorization header looked at: `Bearer ` and the longest token.
const LONGEST_HEADER: usize = 7 + *credgate_files::TOKEN_LENGTH.end();

impl Identities {
    /// Takes what the configuration names; `certificates` says that mTLS is mandatory.
    pub fn new(identities: Vec<Identity>, certificates: bool) -> Self {
        let digests = (0..)
            .zip(&identities)
            .flat_map(|(index, one)| one.tokens.iter().map(move |t| (words(*t), index)))
            .collect();
        Self { identities, digests, certificates }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The name of an authenticated caller.
    pub fn name(&self, principal: Principal) -> &str {
        &self.identities[principal.index].name
    }

    /// Judges one call.
    pub fn authenticate(&self, headers: &HeaderMap, peer: &Peer, now: SystemTime) -> Result<Principal, Refusal> {
        let index = self.find(bearer(headers)?).ok_or(Refusal::UnknownToken)?;
        let identity = self.identities.get(index).ok_or(Refusal::UnknownToken)?;
        if self.certificates {
            if !peer.certificate_valid(now) {
                return Err(Refusal::CertificateExpired);
            }
            if !identity.sans.iter().any(|san| peer.names.contains(san)) {
                return Err(Refusal::OtherIdentity);
            }
        }
        Ok(Principal { index, role: identity.role })
    }

    /// Compares with every digest and never stops early, so that the time taken tells nothing about which one is near.
    fn find(&self, token: &[u8]) -> Option<usize> {
        let given = words(Sha256::digest(token).into());
        let (mut found, mut index) = (Choice::from(0), 0_u32);
        for (digest, owner) in &self.digests {
            let differing = digest.iter().zip(&given).fold(0, |bits, (one, other)| bits | (one ^ other));
            let equal = differing.ct_eq(&0);
            index.conditional_assign(owner, equal);
            found |= equal;
        }
        bool::from(found).then_some(index as usize)
    }
}

impl Principal {
    /// Whether it may look credentials up.
    pub fn may_look_up(self) -> Result<(), Forbidden> {
        match self.role {
            Role::Registrar => Ok(()),
            Role::Probe => Err(Forbidden),
        }
    }
}

/// A digest in words: a comparison is then 4 steps without a branch, and one of `subtle` over what they leave.
type Words = [u64; 4];

fn words(digest: [u8; 32]) -> Words {
    let (words, _) = digest.as_chunks::<8>();
    std::array::from_fn(|index| u64::from_ne_bytes(words[index]))
}

/// The token of the one authorization header. The scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(headers: &HeaderMap) -> Result<&[u8], Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Refusal::NoToken) };
    let value = value.as_bytes();
    if value.len() > LONGEST_HEADER {
        return Err(Refusal::Malformed);
    }
    match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty() => Ok(token),
        _ => Err(Refusal::Malformed),
    }
}

impl Refusal {
    /// Every cause, for the metric's labels.
    pub const ALL: [Self; 5] =
        [Self::NoToken, Self::Malformed, Self::UnknownToken, Self::CertificateExpired, Self::OtherIdentity];

    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::Malformed => "malformed",
            Self::UnknownToken => "unknown_token",
            Self::CertificateExpired => "certificate_expired",
            Self::OtherIdentity => "other_identity",
        }
    }
}

#[cfg(test)]
mod tests;
