//! The rows of a file: each judged by itself, and against those before it.
//!
//! Decides which rows are right. A disabled node's password is never looked at, so that a node can be shut off by one
//! word; a second row for a node is refused whatever it says.

use std::{fmt, path::Path};

use credgate_provider::Report;

use crate::{
    Rules,
    index::{Index, Records, Repeat},
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
    pub(crate) fn problem(&self, line: impl fmt::Display, text: impl fmt::Display) {
        self.report.problem(format_args!("{}:{line}", self.path.display()), text);
    }

    fn warning(&self, line: usize, text: impl fmt::Display) {
        self.report.warning(format_args!("{}:{line}", self.path.display()), text);
    }

    /// Lists the lines of one warning; of more than [`MOST_LISTED`] it tells how many there are.
    fn warnings(&self, remark: &Remark, text: &str) {
        remark.lines.iter().for_each(|line| self.warning(*line, text));
        if let more @ 1.. = remark.count - remark.lines.len() {
            self.report.warning(self.path.display(), format_args!("{more} more lines: {text}"));
        }
    }
}

/// The lines that one warning is about: the first of them, and how many there are.
#[derive(Default)]
struct Remark {
    lines: Vec<usize>,
    count: usize,
}

impl Remark {
    fn add(&mut self, line: usize) {
        self.count += 1;
        if self.lines.len() < MOST_LISTED {
            self.lines.push(line);
        }
    }
}

/// What the rows of a file have come to.
pub(crate) struct Judged {
    pub(crate) index: Index,
    pub(crate) faults: usize,
    pub(crate) nodes: usize,
    pub(crate) disabled: usize,
}

/// The rows of a file while they are judged.
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    /// Whether all of it is UTF-8; otherwise each record is asked.
    utf_8: bool,
    shape: Shape,
    rules: Rules,
    listing: Listing<'a>,
    records: Records,
    faults: usize,
    nodes: usize,
    disabled: usize,
    spaced: Remark,
    spread: Remark,
}

impl<'a> Rows<'a> {
    /// Judges every record from `walk` on: first each by itself, then against those before it.
    pub(crate) fn judge(bytes: &'a [u8], walk: Walk<'a>, shape: Shape, rules: Rules, listing: Listing<'a>) -> Judged {
        let mut rows = Self {
            bytes,
            utf_8: std::str::from_utf8(bytes).is_ok(),
            shape,
            rules,
            listing,
            records: Records::with_room_for(line_ends(&bytes[walk.at()..]) + 1),
            faults: 0,
            nodes: 0,
            disabled: 0,
            spaced: Remark::default(),
            spread: Remark::default(),
        };
        rows.judge_records(walk);
        listing.warnings(&rows.spaced, "blanks around the password; kept as they are");
        listing.warnings(&rows.spread, "a quoted value goes on over several lines; nothing inside it is a row");
        rows.finish()
    }

    fn judge_records(&mut self, mut walk: Walk<'a>) {
        loop {
            let mut row = Row::default();
            let columns = self.shape.columns;
            let Some(step) = walk.next(|position, field| row.take(columns, position, field)) else { break };
            match step.extent {
                Err(malformed) => self.fault(step.line, malformed.fault),
                Ok(extent) if !self.utf_8 && std::str::from_utf8(&self.bytes[step.start..extent.next]).is_err() => {
                    self.fault(step.line, NOT_UTF_8);
                }
                Ok(extent) if extent.fields != columns.count => self.miscounted(step.line, extent.fields),
                Ok(extent) => {
                    if self.bytes[step.start..extent.next].trim_ascii_end().contains(&b'\n') {
                        self.spread.add(step.line);
                    }
                    self.judge_row(&row, step.start, step.line);
                }
            }
        }
    }

    fn judge_row(&mut self, row: &Row<'a>, start: usize, line: usize) {
        self.nodes += 1;
        self.enter(row, start, line);
        match row.enabled() {
            None => self.fault(line, "the column for enabled must say true, false, 1, 0, yes or no"),
            Some(false) => self.disabled += 1,
            Some(true) => match row.is_spaced(self.rules.passwords) {
                Err(fault) => self.fault(line, fault),
                Ok(true) => self.spaced.add(line),
                Ok(false) => {}
            },
        }
    }

    /// Notes where a row stands under its node ID.
    fn enter(&mut self, row: &Row<'a>, start: usize, line: usize) {
        let node = row.node_id.verbatim().unwrap_or_default();
        let text = std::str::from_utf8(node).unwrap_or_default();
        if !self.rules.node_ids.allows(text) {
            let blanks = if self.rules.node_ids.allows(text.trim()) { "; it has blanks around it" } else { "" };
            return self.fault(line, format_args!("the node ID does not fit lookup.node_id{blanks}"));
        }
        self.records.add(node, start);
    }

    /// Makes the index, and with it finds the nodes that stand twice.
    fn finish(self) -> Judged {
        let Self { bytes, shape, listing, records, nodes, disabled, .. } = self;
        let node = |start| Row::read(bytes, start, shape).ok().and_then(|(row, _)| row.node_id.verbatim());
        let (index, repeats) = records.index(|one, other| node(one) == node(other));
        for Repeat { later, first } in &repeats {
            let [later, first] = [later, first].map(|at| Line { bytes, at: *at });
            listing.problem(later, format_args!("the same node stands in line {first} already; one row per node"));
        }
        Judged { index, faults: self.faults + repeats.len(), nodes, disabled }
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

/// The most lines that are listed for one warning: enough to find them, too few to push out those of other files.
const MOST_LISTED: usize = 20;
