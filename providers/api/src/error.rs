//! How a provider fails: four ways of a lookup or check, two of opening.

use std::fmt;

use crate::Problem;

/// Why a lookup or a check has no answer. The detail is for the log; it never holds a password, a URL or a row's values.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProviderError {
    /// The store could not be asked.
    #[error("backend unavailable: {0}")]
    Unavailable(Detail),
    /// The store did not answer in time.
    #[error("backend timed out: {0}")]
    TimedOut(Detail),
    /// The store answered with a record that cannot be used.
    #[error("corrupt record: {0}")]
    Corrupt(Detail),
    /// The provider itself failed in a way it should not.
    #[error("provider defect: {0}")]
    Defect(Detail),
}

/// Why a provider did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store is not there, refuses us, or is not of the shape we need (exit code 69).
    #[error("{0}")]
    Unavailable(Detail),
    /// What was configured cannot work (exit code 78).
    #[error("{0}")]
    Configuration(Problem),
}

/// A sentence for the log: bounded, and free of control characters.
#[derive(Clone, PartialEq, Eq)]
pub struct Detail(Box<str>);

impl Detail {
    /// Longest detail in characters; what exceeds it is cut with an ellipsis.
    pub const MOST: usize = 300;

    /// Takes the text of an error, escaping what could forge a log line.
    pub fn new(text: impl fmt::Display) -> Self {
        let text = text.to_string();
        let mut kept: String = text
            .chars()
            .take(Self::MOST)
            .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
            .collect();
        if text.chars().nth(Self::MOST).is_some() {
            kept.push('…');
        }
        Self(kept.into())
    }
}

impl From<&str> for Detail {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Detail {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_bounded_and_forges_no_line() {
        assert_eq!(Detail::new("a\nb\x1b[31m").to_string(), "a\\nb\\u{1b}[31m");
        assert_eq!(Detail::new("é".repeat(400)).to_string(), format!("{}…", "é".repeat(300)));
    }
}
