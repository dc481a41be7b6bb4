//! The table that serves: the file's bytes and the index into them.
//!
//! Decides what a lookup finds. It exists only for a file without faults, and still judges each record again as it
//! hands it out: the rule that a password must fit stands before every answer.

use std::fmt;

use credgate_provider::{NodeId, NodeIdRule, Password, PasswordFault, PasswordRule, parse_enabled};
use zeroize::Zeroizing;

use crate::{
    header::Columns,
    index::Index,
    record::{Extent, Field, Malformed, read_record},
    walk::Walk,
};

/// What a file is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Which node IDs can be asked for.
    pub node_ids: NodeIdRule,
    /// Which stored passwords may be handed out.
    pub passwords: PasswordRule,
}

/// A loaded file. Its bytes are wiped when it is dropped.
pub struct Table {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    pub(crate) shape: Shape,
    pub(crate) rules: Rules,
    /// Where the first record behind the header begins.
    pub(crate) body: usize,
    pub(crate) index: Index,
    pub(crate) nodes: usize,
    pub(crate) disabled: usize,
}

/// One row of a table, for those who copy it elsewhere.
#[derive(Debug)]
pub struct Node<'a> {
    /// The line it begins on, counted from 1.
    pub line: usize,
    /// The node ID.
    pub node_id: &'a str,
    /// The password; the fault of one that cannot be handed out is possible only where `enabled` is false.
    pub password: Result<Password, PasswordFault>,
    /// Whether the node may be found.
    pub enabled: bool,
}

/// How a record of this file is taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) delimiter: u8,
    pub(crate) columns: Columns,
}

/// The values of a record that matter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'a> {
    pub(crate) node_id: Field<'a>,
    pub(crate) password: Field<'a>,
    pub(crate) enabled: Option<Field<'a>>,
}

impl Table {
    /// The password of an enabled node; `None` when the file has no such node or it is disabled.
    pub fn find(&self, node: &NodeId) -> Result<Option<Password>, PasswordFault> {
        let node = node.as_str().as_bytes();
        match self.index.search(node, |start| self.row(start).filter(|row| row.node_id.verbatim() == Some(node))) {
            Some(row) if row.enabled() == Some(true) => row.password(self.rules.passwords).map(Some),
            _ => Ok(None),
        }
    }

    /// The rows, in the file's order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        let mut walk = Walk::new(&self.bytes, self.body, self.shape.delimiter);
        std::iter::from_fn(move || {
            let mut row = Row::default();
            let step = walk.next(|position, field| row.take(self.shape.columns, position, field))?;
            let node_id = row.node_id.verbatim().and_then(|bytes| std::str::from_utf8(bytes).ok())?;
            let (password, enabled) = (row.password(self.rules.passwords), row.enabled() == Some(true));
            Some(Node { line: step.line, node_id, password, enabled })
        })
    }

    /// How many nodes it holds, disabled ones included.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// How many of its nodes are disabled.
    pub fn disabled(&self) -> usize {
        self.disabled
    }

    fn row(&self, start: usize) -> Option<Row<'_>> {
        Row::read(&self.bytes, start, self.shape).ok().map(|(row, _)| row)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("nodes", &self.nodes).field("disabled", &self.disabled).finish_non_exhaustive()
    }
}

impl<'a> Row<'a> {
    /// Reads the record that begins at `start`.
    pub(crate) fn read(bytes: &'a [u8], start: usize, shape: Shape) -> Result<(Self, Extent), Malformed> {
        let mut row = Self::default();
        let extent =
            read_record(bytes, start, shape.delimiter, |position, field| row.take(shape.columns, position, field))?;
        Ok((row, extent))
    }

    /// Keeps the value at `position` of its record, if it is one that matters.
    pub(crate) fn take(&mut self, columns: Columns, position: usize, field: Field<'a>) {
        if position == columns.node_id {
            self.node_id = field;
        } else if position == columns.password {
            self.password = field;
        } else if Some(position) == columns.enabled {
            self.enabled = Some(field);
        }
    }

    /// Whether the node may be found; `None` when the value says neither. A file without the column enables all.
    pub(crate) fn enabled(&self) -> Option<bool> {
        match self.enabled {
            Some(field) => parse_enabled(std::str::from_utf8(field.verbatim()?).ok()?),
            None => Some(true),
        }
    }

    /// The password, judged.
    pub(crate) fn password(&self, rule: PasswordRule) -> Result<Password, PasswordFault> {
        self.with_password(|stored| rule.parse(stored))
    }

    /// Whether the password, judged, has blanks around it.
    pub(crate) fn is_spaced(&self, rule: PasswordRule) -> Result<bool, PasswordFault> {
        self.with_password(|stored| rule.judge(stored).map(|text| text.trim().len() < text.len()))
    }

    fn with_password<T>(&self, make: impl FnOnce(&[u8]) -> T) -> T {
        match self.password.verbatim() {
            Some(stored) => make(stored),
            None => make(self.password.value(&mut Zeroizing::default())),
        }
    }
}
