//! Where a record's values begin and end: RFC 4180, with any delimiter.
//!
//! Decides what a quote means and what ends a line, and refuses what other readers guess at: a quote that never closes
//! would swallow the rest of the file, text behind a closing quote is read differently by different tools, and a lone
//! carriage return ends a line for some and not for others. Knows nothing of nodes and passwords.

use std::fmt;

use memchr::{memchr, memchr3};
use zeroize::Zeroizing;

/// One value, without its enclosing quotes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Field<'a> {
    raw: &'a [u8],
    /// Holds quotes that were written twice.
    doubled: bool,
}

/// What cannot be read, and the byte where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) fault: MalformedKind,
    pub(crate) at: usize,
}

/// How it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MalformedKind {
    Unclosed,
    AfterQuote,
    LoneCr,
}

/// How many values a record has, and where the next record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) fields: usize,
    pub(crate) next: usize,
}

/// Reads the record that begins at `start`, handing on each value with its position.
pub(crate) fn read_record<'a>(
    bytes: &'a [u8],
    start: usize,
    delimiter: u8,
    mut take: impl FnMut(usize, Field<'a>),
) -> Result<Extent, Malformed> {
    let mut at = start;
    for position in 0.. {
        let (field, end) = match bytes.get(at) {
            Some(b'"') => quoted(bytes, at, delimiter)?,
            _ => plain(bytes, at, delimiter)?,
        };
        take(position, field);
        match bytes.get(end) {
            Some(byte) if *byte == delimiter => at = end + 1,
            ending => {
                let next = end + ending.map_or(0, |byte| if *byte == b'\r' { 2 } else { 1 });
                return Ok(Extent { fields: position + 1, next });
            }
        }
    }
    Ok(Extent { fields: 0, next: bytes.len() })
}

fn plain(bytes: &[u8], start: usize, delimiter: u8) -> Result<(Field<'_>, usize), Malformed> {
    let rest = &bytes[start..];
    let length = memchr3(delimiter, b'\n', b'\r', rest).unwrap_or(rest.len());
    match &rest[length..] {
        [b'\r', after @ ..] if after.first() != Some(&b'\n') => {
            Err(Malformed { fault: MalformedKind::LoneCr, at: start + length })
        }
        _ => Ok((Field { raw: &rest[..length], doubled: false }, start + length)),
    }
}

fn quoted(bytes: &[u8], open: usize, delimiter: u8) -> Result<(Field<'_>, usize), Malformed> {
    let malformed = |fault, at| Err(Malformed { fault, at });
    let mut doubled = false;
    let mut at = open + 1;
    let close = loop {
        let Some(gap) = memchr(b'"', &bytes[at..]) else {
            return malformed(MalformedKind::Unclosed, open);
        };
        if bytes.get(at + gap + 1) != Some(&b'"') {
            break at + gap;
        }
        doubled = true;
        at += gap + 2;
    };
    match bytes.get(close + 1..) {
        Some([b'\r', rest @ ..]) if rest.first() != Some(&b'\n') => {
            return malformed(MalformedKind::LoneCr, close + 1);
        }
        Some([byte, ..]) if *byte != delimiter && !matches!(byte, b'\r' | b'\n') => {
            return malformed(MalformedKind::AfterQuote, open);
        }
        _ => {}
    }
    let raw = &bytes[open + 1..close];
    match lone_cr(raw) {
        Some(offset) => malformed(MalformedKind::LoneCr, open + 1 + offset),
        None => Ok((Field { raw, doubled }, close + 1)),
    }
}

fn lone_cr(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len()).find(|at| bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
}

impl<'a> Field<'a> {
    /// The value's bytes, if no quote in it was written twice.
    pub(crate) fn verbatim(&self) -> Option<&'a [u8]> {
        (!self.doubled).then_some(self.raw)
    }

    /// The value's bytes; `scratch` holds them where they differ from the file's.
    pub(crate) fn value<'s>(&self, scratch: &'s mut Zeroizing<Vec<u8>>) -> &'s [u8]
    where
        'a: 's,
    {
        if !self.doubled {
            return self.raw;
        }
        // Reserved at once: growing would leave unwiped copies behind.
        *scratch = Zeroizing::new(Vec::with_capacity(self.raw.len()));
        let mut bytes = self.raw.iter();
        while let Some(byte) = bytes.next() {
            scratch.push(*byte);
            if *byte == b'"' {
                bytes.next();
            }
        }
        scratch
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Field")
    }
}

impl fmt::Display for MalformedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclosed => {
                "a quote opens a value here and is never closed; a value that begins with a quote is itself written in \
                 quotes, its own quotes twice"
            }
            Self::AfterQuote => {
                "a quoted value that begins here is followed by more text; a quote inside quotes is written twice"
            }
            Self::LoneCr => "a carriage return stands alone; lines end with LF or CR LF",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<(Vec<String>, usize), Malformed> {
        let mut values = Vec::new();
        let extent = read_record(text.as_bytes(), 0, b',', |_, field| {
            values.push(String::from_utf8(field.value(&mut Zeroizing::default()).to_vec()).unwrap());
        })?;
        assert_eq!(values.len(), extent.fields);
        Ok((values, extent.next))
    }

    #[test]
    fn values_end_at_delimiters_and_line_endings() {
        for (text, wanted, next) in [
            ("a,b\nc", vec!["a", "b"], 4),
            ("a,b\r\nc", vec!["a", "b"], 5),
            ("a,b", vec!["a", "b"], 3),
            ("a,", vec!["a", ""], 2),
            ("a,\r\nb", vec!["a", ""], 4),
            ("a,b\n\r\n", vec!["a", "b"], 4),
            ("", vec![""], 0),
            ("#a, b ,\\\n", vec!["#a", " b ", "\\"], 9),
            ("\"a,b\",\"c\"\"d\"\r\n", vec!["a,b", "c\"d"], 14),
            ("\"\",\"\"\"\"\n", vec!["", "\""], 8),
            ("a\"b,c\"\n", vec!["a\"b", "c\""], 7),
            ("\"a\nb\",\"c\r\nd\"", vec!["a\nb", "c\r\nd"], 12),
        ] {
            let wanted: Vec<String> = wanted.into_iter().map(String::from).collect();
            assert_eq!(values(text), Ok((wanted, next)), "{text:?}");
        }
    }

    #[test]
    fn what_other_readers_guess_at_is_refused_where_it_begins() {
        use MalformedKind::{AfterQuote, LoneCr, Unclosed};
        for (text, fault, at) in [
            ("a,\"b\nc,d\n", Unclosed, 2),
            ("\"", Unclosed, 0),
            ("\"\"\"", Unclosed, 0),
            ("a,\"b\"c\n", AfterQuote, 2),
            ("\"b\nc,\"d\"\n", AfterQuote, 0),
            ("a,b\rc,d", LoneCr, 3),
            ("a,b\r", LoneCr, 3),
            ("a,b\r\r\n", LoneCr, 3),
            ("a,\"b\"\rc", LoneCr, 5),
            ("a,\"b\rc\"", LoneCr, 4),
        ] {
            assert_eq!(values(text), Err(Malformed { fault, at }), "{text:?}");
        }
    }
}
