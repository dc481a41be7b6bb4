//! The exactly-one-row rule: what the rows of one node mean. Knows no dialect, and shows no value.
//!
//! Two rows are an error whatever they hold; then a disabled node is no node; then the password must be usable. Anything
//! unexpected is an error, never "no such node".

use std::fmt;

use credgate_provider::{NodeId, Password, PasswordRule, ProviderError, parse_enabled};
use zeroize::Zeroizing;

/// A value as a database stores it.
pub(crate) enum Cell {
    Null,
    Integer(i64),
    /// Text, or bytes: a `BLOB` that holds the bytes of a text is taken as that text.
    Text(Zeroizing<Vec<u8>>),
    /// A fraction, a date, anything that has no one spelling.
    Other,
}

/// One row of the query.
pub(crate) struct Record {
    pub(crate) node_id: Cell,
    pub(crate) password: Cell,
    /// `None` when the query has no such column: every node is enabled.
    pub(crate) enabled: Option<Cell>,
}

/// The rows of the node that was asked for: none, one, or "two or more".
pub(crate) struct Matches {
    node: NodeId,
    first: Option<Record>,
    more: bool,
    incomparable: bool,
}

impl Matches {
    pub(crate) fn of(node: NodeId) -> Self {
        Self { node, first: None, more: false, incomparable: false }
    }

    /// Takes a row into account. A row whose own node ID differs from the question does not count: a collation, padding
    /// or an integer column (`0200` asked, 200 found) made the database return it. Returns whether to read on.
    pub(crate) fn take(&mut self, record: Record) -> bool {
        let asked = self.node.as_str().as_bytes();
        let same = match &record.node_id {
            Cell::Text(text) => text[..] == *asked,
            Cell::Integer(number) => number.to_string().as_bytes() == asked,
            Cell::Null | Cell::Other => {
                self.incomparable = true;
                false
            }
        };
        if same {
            self.more = self.first.is_some();
            self.first.get_or_insert(record);
        }
        !self.more
    }

    /// Whether all rows were read.
    pub(crate) fn is_whole(&self) -> bool {
        !self.more
    }

    /// Whether there is a row of the node, whatever it says.
    pub(crate) fn found_any(&self) -> bool {
        self.first.is_some()
    }

    /// The answer.
    pub(crate) fn judge(self, rule: PasswordRule) -> Result<Option<Password>, ProviderError> {
        if self.more {
            return Err(corrupt("two or more rows for one node"));
        }
        if self.incomparable {
            return Err(corrupt("a row's node_id is NULL or of a type that cannot be compared"));
        }
        let Some(record) = self.first else { return Ok(None) };
        if !record.is_enabled()? {
            return Ok(None);
        }
        match record.password {
            Cell::Text(stored) => rule.parse(&stored).map(Some).map_err(corrupt),
            Cell::Null => Err(corrupt("the password is NULL")),
            Cell::Integer(_) | Cell::Other => Err(corrupt("the password is stored as a number, not as text")),
        }
    }
}

impl Record {
    fn is_enabled(&self) -> Result<bool, ProviderError> {
        let known = match &self.enabled {
            None | Some(Cell::Integer(1)) => Some(true),
            Some(Cell::Integer(0)) => Some(false),
            Some(Cell::Text(word)) => std::str::from_utf8(word).ok().and_then(parse_enabled),
            Some(Cell::Null) => return Err(corrupt("enabled is NULL")),
            Some(Cell::Integer(_) | Cell::Other) => None,
        };
        known.ok_or_else(|| corrupt("enabled is none of true, false, 1, 0, yes, no"))
    }
}

fn corrupt(text: impl fmt::Display) -> ProviderError {
    ProviderError::Corrupt(text.to_string().into())
}

#[cfg(test)]
mod tests {
    use credgate_provider::NodeIdRule;

    use super::*;

    fn text(text: &str) -> Cell {
        Cell::Text(Zeroizing::new(text.into()))
    }

    /// The answer to "0200": `Ok` with the password or nothing, or the sentence of a corrupt record.
    fn judge(rows: Vec<(Cell, Cell, Option<Cell>)>) -> Result<Option<String>, String> {
        let mut matches = Matches::of(NodeIdRule::default().parse("0200").unwrap());
        for (node_id, password, enabled) in rows {
            matches.take(Record { node_id, password, enabled });
        }
        match matches.judge(PasswordRule::default()) {
            Ok(password) => Ok(password.map(|password| password.expose().to_owned())),
            Err(ProviderError::Corrupt(detail)) => Err(detail.to_string()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn only_rows_of_the_very_node_count() {
        assert_eq!(judge(vec![]), Ok(None));
        assert_eq!(judge(vec![(Cell::Integer(200), text("a"), None)]), Ok(None));
        assert_eq!(judge(vec![(text("200"), text("a"), None), (text("0200 "), text("b"), None)]), Ok(None));
        assert_eq!(
            judge(vec![(text("200"), text("a"), None), (text("0200"), text("b "), None)]),
            Ok(Some("b ".to_owned()))
        );
        assert!(judge(vec![(Cell::Null, text("a"), None)]).unwrap_err().contains("cannot be compared"));
    }

    #[test]
    fn two_rows_win_over_disabled_and_disabled_over_a_corrupt_password() {
        let off = || Some(Cell::Integer(0));
        let two = vec![(text("0200"), Cell::Null, off()), (text("0200"), Cell::Null, off())];
        assert!(judge(two).unwrap_err().contains("two or more rows"));
        assert_eq!(judge(vec![(text("0200"), Cell::Null, off())]), Ok(None));
        assert_eq!(judge(vec![(text("0200"), text(""), off())]), Ok(None));
    }

    #[test]
    fn enabled_and_password_are_what_they_say_or_corrupt() {
        for (enabled, answer) in [
            (Cell::Integer(1), Some(true)),
            (Cell::Integer(0), Some(false)),
            (text("YES"), Some(true)),
            (text("False"), Some(false)),
            (Cell::Integer(2), None),
            (text(""), None),
            (text("on"), None),
            (Cell::Null, None),
            (Cell::Other, None),
        ] {
            let given = judge(vec![(text("0200"), text("p"), Some(enabled))]).ok().map(|found| found.is_some());
            assert_eq!(given, answer);
        }
        for password in [Cell::Null, Cell::Integer(123), Cell::Other, text(""), text(" "), text("é"), text("a\0b")] {
            assert!(judge(vec![(text("0200"), password, None)]).is_err());
        }
    }
}
