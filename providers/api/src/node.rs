//! Node IDs: text, never numbers.

use std::fmt;

/// A node ID that fits the gateway's grammar. `0200` and `200` are two nodes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Box<str>);

impl NodeId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Node IDs are nobody's secret, but logs and metrics do not carry them: showing one has to be asked for by name.
impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeId")
    }
}

/// Which characters a node ID is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// ASCII digits, 1 to 10 of them: node numbers.
    Digits,
    /// `[A-Za-z0-9._+-]`, 1 to 64 of them: SIP user names (a part of RFC 3261's `user`).
    Token,
}

impl Grammar {
    /// Longest node ID of this grammar in characters.
    pub fn longest(self) -> usize {
        match self {
            Self::Digits => 10,
            Self::Token => 64,
        }
    }

    fn allows(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Token => byte.is_ascii_alphanumeric() || b"._+-".contains(&byte),
        }
    }
}

/// Grammar and length together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIdRule {
    /// The characters.
    pub grammar: Grammar,
    /// The most of them: 1 to [`Grammar::longest`].
    pub max_length: usize,
}

/// The text does not fit the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a node ID of the configured grammar")]
pub struct InvalidNodeId;

impl Default for NodeIdRule {
    fn default() -> Self {
        Self { grammar: Grammar::Digits, max_length: Grammar::Digits.longest() }
    }
}

impl NodeIdRule {
    /// Takes a text that fits, byte for byte as it is.
    pub fn parse(self, text: &str) -> Result<NodeId, InvalidNodeId> {
        if self.allows(text) { Ok(NodeId(text.into())) } else { Err(InvalidNodeId) }
    }

    /// Whether a text fits.
    pub fn allows(self, text: &str) -> bool {
        (1..=self.max_length).contains(&text.len()) && text.bytes().all(|byte| self.grammar.allows(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_ascii_and_keep_their_zeros() {
        let rule = NodeIdRule::default();
        for good in ["0", "2000", "0200", "1234567890"] {
            assert_eq!(rule.parse(good).unwrap().as_str(), good);
        }
        for bad in ["", " 1", "1 ", "12345678901", "-1", "1a", "١٢", "1\0", "1\n"] {
            assert_eq!(rule.parse(bad), Err(InvalidNodeId), "{bad:?}");
        }
    }

    #[test]
    fn tokens_are_sip_user_names() {
        let rule = NodeIdRule { grammar: Grammar::Token, max_length: 64 };
        for good in ["alice", "a.b_c+d-e", "2000", &"x".repeat(64)] {
            assert!(rule.parse(good).is_ok(), "{good:?}");
        }
        for bad in ["", "a b", "a@b", "a:b", "ü", "a/b", "*", &"x".repeat(65)] {
            assert!(rule.parse(bad).is_err(), "{bad:?}");
        }
    }
}
