//! From the bytes of a file to a table, or to the list of everything that is wrong with it.
//!
//! Decides what a file must be to serve. One fault anywhere refuses the whole file: which of two rows was meant is
//! nothing to guess at, and a file that is half taken looks healthy. No sentence shows a value.

use std::path::Path;

use credgate_provider::Report;
use memchr::memchr;
use zeroize::Zeroizing;

use crate::{
    Dialect, Rules, Table,
    header::Columns,
    index::Index,
    rows::{Judged, Listing, NOT_UTF_8, Rows},
    settings::Layout,
    table::Shape,
    walk::{Walk, line_ends},
};

/// Reads a file and judges it; a file that cannot be read is a problem at `place`.
pub fn read(path: &Path, place: &str, dialect: &Dialect, rules: Rules, report: &Report) -> Option<Table> {
    let (bytes, loaded) = report.file(place, credgate_files::read(path))?;
    report.loaded_secret(place, loaded);
    Table::parse(bytes, path, dialect, rules, report)
}

impl Table {
    /// Judges the bytes of a file: a table, or problems with their lines at `path`. Touches nothing but its arguments.
    pub fn parse(
        bytes: Zeroizing<Vec<u8>>,
        path: &Path,
        dialect: &Dialect,
        rules: Rules,
        report: &Report,
    ) -> Option<Self> {
        let listing = Listing { path, report };
        if let Some((at, text)) = foreign(&bytes) {
            listing.problem(line_ends(&bytes[..at]) + 1, text);
            return None;
        }
        let mut walk = Walk::new(&bytes, if bytes.starts_with(BOM) { BOM.len() } else { 0 }, dialect.delimiter);
        let columns = columns(&mut walk, &bytes, dialect, &listing)?;
        let shape = Shape { delimiter: dialect.delimiter, columns };
        let body = walk.at();
        let Judged { index, faults, nodes, disabled } = Rows::judge(&bytes, walk, shape, rules, listing);
        if nodes == 0 && faults == 0 && !dialect.allow_empty {
            report.problem(path.display(), "holds no rows; if that is meant, set provider.csv.allow_empty = true");
            return None;
        }
        (faults == 0).then_some(Self { bytes, shape, rules, body, index, nodes, disabled })
    }
}

/// What shows at once that these are not the bytes of a CSV file we can read, and where.
fn foreign(bytes: &[u8]) -> Option<(usize, &'static str)> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some((0, "is UTF-16 text (it begins with that byte order mark); save it as UTF-8"));
    }
    if let Some(at) = memchr(0, bytes) {
        return Some((at, "holds a zero byte, as UTF-16 text does; save the file as UTF-8"));
    }
    (bytes.len() > Index::MOST_BYTES).then_some((0, "is larger than 4 GiB, the most this provider can index"))
}

/// Where the columns stand: as configured, or by the header, which is then behind the walk.
fn columns(walk: &mut Walk<'_>, bytes: &[u8], dialect: &Dialect, listing: &Listing<'_>) -> Option<Columns> {
    let wanted = match &dialect.layout {
        Layout::Fixed(columns) => return Some(*columns),
        Layout::Header(names) => names,
    };
    let mut found = Vec::new();
    let mut scratch = Zeroizing::default();
    let header = walk.next(|_, field| found.push(String::from_utf8_lossy(field.value(&mut scratch)).into_owned()));
    let Some(header) = header else {
        listing.report.problem(listing.path.display(), "is empty; its first line must be the header");
        return None;
    };
    let extent = header.extent.map_err(|malformed| listing.problem(header.line, malformed.fault)).ok()?;
    if std::str::from_utf8(&bytes[header.start..extent.next]).is_err() {
        listing.problem(header.line, NOT_UTF_8);
        return None;
    }
    Columns::of_header(&found, wanted)
        .map_err(|faults| {
            faults.iter().for_each(|fault| listing.problem(header.line, format_args!("the header {fault}")))
        })
        .ok()
}

/// Byte order mark of UTF-8, which spreadsheets write.
const BOM: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests;
