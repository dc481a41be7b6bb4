//! The records of a file one after the other, with the line each begins on.
//!
//! Decides where reading goes on behind a record that cannot be read: on the line after the fault, so that one missing
//! quote costs one line of the listing and not all that follow. Empty lines are no records.

use memchr::memchr;

use crate::record::{Extent, Field, Malformed, read_record};

/// How far a file has been read.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    at: usize,
    line: usize,
}

/// Where a record begins, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) start: usize,
    /// The line of its first byte, or of its fault; counted from 1.
    pub(crate) line: usize,
    pub(crate) extent: Result<Extent, Malformed>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: usize, delimiter: u8) -> Self {
        Self { bytes, delimiter, at: start, line: line_ends(&bytes[..start]) + 1 }
    }

    /// The byte where the next record begins, or an empty line before it.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Reads the next record, handing on each value with its position; `None` at the end of the file.
    pub(crate) fn next(&mut self, take: impl FnMut(usize, Field<'a>)) -> Option<Step> {
        while let Some(length) = self.blank() {
            self.pass(self.at + length);
        }
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let mut line = self.line;
        let extent = read_record(self.bytes, start, self.delimiter, take);
        match extent {
            Ok(extent) => self.pass(extent.next),
            Err(malformed) => {
                self.pass(malformed.at);
                line = self.line;
                let rest = &self.bytes[malformed.at..];
                self.pass(malformed.at + memchr(b'\n', rest).map_or(rest.len(), |end| end + 1));
            }
        }
        Some(Step { start, line, extent })
    }

    fn blank(&self) -> Option<usize> {
        match &self.bytes[self.at..] {
            [b'\n', ..] => Some(1),
            [b'\r', b'\n', ..] => Some(2),
            _ => None,
        }
    }

    fn pass(&mut self, next: usize) {
        self.line += line_ends(&self.bytes[self.at..next]);
        self.at = next;
    }
}

/// How many lines end in these bytes.
pub(crate) fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::MalformedKind;

    #[test]
    fn lines_stay_right_and_a_fault_costs_one_line() {
        let text = "a\n\n\"b\nb\"\r\n\r\nc,\"d\ne\"f\"\ng\rh\ni,\"";
        let mut walk = Walk::new(text.as_bytes(), 0, b',');
        let mut steps = Vec::new();
        while let Some(step) = walk.next(|_, _| ()) {
            steps.push((step.line, step.extent.map(|extent| extent.fields).map_err(|malformed| malformed.fault)));
        }
        use MalformedKind::{AfterQuote, LoneCr, Unclosed};
        let wanted = [(1, Ok(1)), (3, Ok(1)), (6, Err(AfterQuote)), (7, Ok(1)), (8, Err(LoneCr)), (9, Err(Unclosed))];
        assert_eq!(steps, wanted);
    }
}
