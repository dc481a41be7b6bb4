//! What a registrar says about its cache and its patience, and everything that is wrong with it in one list.

use std::{fmt, time::Duration};

/// Rules of one registrar.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Who is asked first.
    pub mode: Mode,
    /// Which texts are node IDs; keep it equal to the gateway's `lookup.node_id`.
    pub node_ids: NodeIds,
    /// How long a password is kept, up to a week. A revoked node works that long at most; zero keeps nothing.
    pub ttl: Duration,
    /// Each entry's TTL is shortened by a chance share up to this (0 to 1), so that entries made together do not end
    /// together.
    pub ttl_jitter: f64,
    /// Passwords kept at most; the one that was asked for longest ago makes room.
    pub capacity: usize,
    /// The longest a question takes, its one retry included; up to 60 s. At least the gateway's `lookup.timeout`.
    pub timeout: Duration,
    /// The shortest time between two questions of `verify_failed` about one node.
    pub verify_interval: Duration,
}

/// Who is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An unexpired cached password is used without asking: fewest lookups; a revoked node works until its TTL ends.
    CacheFirst,
    /// The gateway is always asked; an unexpired cached password only bridges an outage.
    CentralFirst,
}

/// Which texts are node IDs. Anything else is no node, so the gateway is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIds {
    /// The alphabet.
    pub grammar: Grammar,
    /// The longest, in bytes.
    pub max_length: usize,
}

/// The alphabet of node IDs; the same words as in the gateway's `lookup.node_id.grammar`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// ASCII digits.
    Digits,
    /// `[A-Za-z0-9._+-]`, for SIP user names.
    Token,
}

/// Every problem of a policy, at least one.
#[derive(Debug)]
pub struct PolicyError(Vec<&'static str>);

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::CacheFirst,
            node_ids: NodeIds::digits(),
            ttl: Duration::from_mins(10),
            ttl_jitter: 0.2,
            capacity: 100_000,
            timeout: Duration::from_secs(3),
            verify_interval: Duration::from_secs(10),
        }
    }
}

impl NodeIds {
    /// Up to 10 digits.
    pub fn digits() -> Self {
        Self { grammar: Grammar::Digits, max_length: 10 }
    }

    /// Up to 64 characters of `[A-Za-z0-9._+-]`.
    pub fn token() -> Self {
        Self { grammar: Grammar::Token, max_length: 64 }
    }

    /// Whether this could be a node. Text, never a number: `0200` and `200` differ.
    pub fn accept(&self, node_id: &str) -> bool {
        let fits = |byte: u8| match self.grammar {
            Grammar::Digits => byte.is_ascii_digit(),
            Grammar::Token => byte.is_ascii_alphanumeric() || b"._+-".contains(&byte),
        };
        (1..=self.max_length).contains(&node_id.len()) && node_id.bytes().all(fits)
    }
}

impl Policy {
    pub(super) fn check(&self, endpoints: usize) -> Result<(), PolicyError> {
        let rules = [
            (endpoints > 0, "endpoints: give one or more"),
            (self.ttl <= LONGEST_TTL, "ttl: expected up to a week"),
            ((0.0..=1.0).contains(&self.ttl_jitter), "ttl_jitter: expected 0 to 1"),
            (self.capacity > 0, "capacity: expected 1 or more; to keep nothing, set ttl to zero"),
            (
                !self.timeout.is_zero() && self.timeout <= LONGEST_TIMEOUT,
                "timeout: expected more than zero and up to 60 s, the gateway's own limit",
            ),
            (self.node_ids.max_length > 0, "node_ids: expected a longest length of 1 or more"),
        ];
        let problems: Vec<_> = rules.iter().filter(|(holds, _)| !holds).map(|(_, problem)| *problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(PolicyError(problems)) }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for PolicyError {}

const LONGEST_TTL: Duration = Duration::from_hours(7 * 24);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
