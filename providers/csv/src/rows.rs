//! The rows of a file: each judged by itself, and against those before it.
//!
//! Decides which rows are right. A disabled node's password is never looked at, so that a node can be shut off by one
//! word; a second row for a node is refused whatever it says.

use std::{fmt, path::Path};

use credgate_provider::Report;

use crate::{
    Rules,
    index::{Index, Place},
    table::{Row, Shape},
    walk::{Walk, line_ends},
};

/// Problems and warnings of one file, by line.
#[derive(Clone, Copy)]
pub(crate) struct Listing<'a> {
    pub(crate) path: &'a Path,
    pub(crate) report: &'a Report,
}

impl Listing<'_> {
    pub(crate) fn problem(&self, line: usize, text: impl fmt::Display) {
        self.report.problem(format_args!("{}:{line}", self.path.display()), text);
    }

    fn warning(&self, line: usize, text: impl fmt::Display) {
        self.report.warning(format_args!("{}:{line}", self.path.display()), text);
    }
}

/// The rows of a file while they are judged.
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    shape: Shape,
    rules: Rules,
    listing: Listing<'a>,
    pub(crate) index: Index,
    pub(crate) faults: usize,
    pub(crate) nodes: usize,
    pub(crate) disabled: usize,
    spaced: usize,
}

impl<'a> Rows<'a> {
    /// Judges every record from `walk` on.
    pub(crate) fn judge(bytes: &'a [u8], walk: Walk<'a>, shape: Shape, rules: Rules, listing: Listing<'a>) -> Self {
        let index = Index::with_room_for(line_ends(&bytes[walk.at()..]) + 1);
        let mut rows = Self { bytes, shape, rules, listing, index, faults: 0, nodes: 0, disabled: 0, spaced: 0 };
        rows.judge_records(walk);
        rows
    }

    fn judge_records(&mut self, mut walk: Walk<'a>) {
        loop {
            let mut row = Row::default();
            let columns = self.shape.columns;
            let Some(step) = walk.next(|position, field| row.take(columns, position, field)) else { break };
            match step.extent {
                Err(malformed) => self.fault(step.line, malformed.fault),
                Ok(extent) if std::str::from_utf8(&self.bytes[step.start..extent.next]).is_err() => {
                    self.fault(step.line, NOT_UTF_8);
                }
                Ok(extent) if extent.fields != columns.count => self.miscounted(step.line, extent.fields),
                Ok(_) => self.judge_row(&row, step.start, step.line),
            }
        }
        if self.spaced > MOST_SPACED {
            let more = self.spaced - MOST_SPACED;
            self.listing.report.warning(self.listing.path.display(), format_args!("{more} more lines with {SPACED}"));
        }
    }

    fn judge_row(&mut self, row: &Row<'a>, start: usize, line: usize) {
        self.nodes += 1;
        self.enter(row, start, line);
        match row.enabled() {
            None => self.fault(line, "the column for enabled must say true, false, 1, 0, yes or no"),
            Some(false) => self.disabled += 1,
            Some(true) => match row.password(self.rules.passwords) {
                Err(fault) => self.fault(line, fault),
                Ok(password) if password.expose().trim().len() < password.expose().len() => self.spaced(line),
                Ok(_) => {}
            },
        }
    }

    /// Enters a row into the index under its node ID.
    fn enter(&mut self, row: &Row<'a>, start: usize, line: usize) {
        let node = row.node_id.verbatim().unwrap_or_default();
        let text = std::str::from_utf8(node).unwrap_or_default();
        if self.rules.node_ids.parse(text).is_err() {
            let blanks = if self.rules.node_ids.parse(text.trim()).is_ok() { "; it has blanks around it" } else { "" };
            return self.fault(line, format_args!("the node ID does not fit lookup.node_id{blanks}"));
        }
        let same = |start: usize| {
            Row::read(self.bytes, start, self.shape).is_ok_and(|(row, _)| row.node_id.verbatim() == Some(node))
        };
        match self.index.search(node, |start| same(start).then_some(start)) {
            Place::Free(place) => self.index.put(place, start),
            Place::Taken(first) => {
                let first = Line { bytes: self.bytes, at: first };
                self.fault(line, format_args!("the same node stands in line {first} already; one row per node"));
            }
        }
    }

    fn miscounted(&mut self, line: usize, fields: usize) {
        let count = self.shape.columns.count;
        let values = if fields == 1 { "value" } else { "values" };
        self.fault(
            line,
            format_args!("has {fields} {values} for {count} columns; a value that holds the delimiter goes in quotes"),
        );
    }

    fn fault(&mut self, line: usize, text: impl fmt::Display) {
        self.faults += 1;
        self.listing.problem(line, text);
    }

    fn spaced(&mut self, line: usize) {
        self.spaced += 1;
        if self.spaced <= MOST_SPACED {
            self.listing.warning(line, format_args!("{SPACED}; kept as they are"));
        }
    }
}

/// The line of a byte, counted only when it is shown: a listing is cut long before a file's last duplicate.
struct Line<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", line_ends(&self.bytes[..self.at]) + 1)
    }
}

pub(crate) const NOT_UTF_8: &str = "is not UTF-8 text; save the file as UTF-8";

const SPACED: &str = "blanks around the password";

/// The most lines with blanks around a password that are listed one by one.
const MOST_SPACED: usize = 20;
