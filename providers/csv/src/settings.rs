//! The table `[provider.csv]`: which file, and how it is written.

use std::path::PathBuf;

use credgate_provider::settings::Section;

use crate::header::{Columns, Names};

/// How a file is written. The default is a comma-separated file with a header of the default names.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// What stands between two values: ASCII, no quote and no line ending.
    pub delimiter: u8,
    /// Whether a file without rows is allowed.
    pub allow_empty: bool,
    pub(crate) layout: Layout,
}

/// What says which column is which.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    /// The first record, by these names.
    Header(Names),
    /// The setting `columns`.
    Fixed(Columns),
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', allow_empty: false, layout: Layout::Header(Names::default()) }
    }
}

/// Reads the settings: the file, and how it is written. Each is `None` when something about it is wrong.
pub(crate) fn read(section: &Section<'_>) -> (Option<PathBuf>, Option<Dialect>) {
    let path = section.required_path("path");
    let delimiter = delimiter(section);
    let allow_empty = section.or("allow_empty", false);
    let layout = layout(section);
    section.finish();
    let dialect = match (delimiter, layout) {
        (Some(delimiter), Some(layout)) => Some(Dialect { delimiter, allow_empty, layout }),
        _ => None,
    };
    (path, dialect)
}

fn delimiter(section: &Section<'_>) -> Option<u8> {
    if !section.has("delimiter") {
        return Some(b',');
    }
    let given = section.optional::<String>("delimiter")?;
    match given.as_bytes() {
        [byte] if !byte.is_ascii_alphanumeric() && !b"\"\r\n\0".contains(byte) && byte.is_ascii() => Some(*byte),
        _ => {
            section.problem("delimiter", "expected one ASCII character that is no letter, digit, quote or line ending");
            None
        }
    }
}

fn layout(section: &Section<'_>) -> Option<Layout> {
    let has_header = section.or("header", true);
    let names = names(section);
    let columns = section.optional::<Vec<String>>("columns");
    if has_header {
        if section.has("columns") {
            section.problem("columns", "goes with header = false only; otherwise the file's header names the columns");
            return None;
        }
        return names.map(Layout::Header);
    }
    if !section.has("columns") {
        section.problem("columns", "is missing; header = false needs it: columns = [\"node_id\", \"password\"]");
    }
    match Columns::of_setting(&columns?, &names?) {
        Ok(columns) => Some(Layout::Fixed(columns)),
        Err(faults) => {
            faults.iter().for_each(|fault| section.problem("columns", fault));
            None
        }
    }
}

fn names(section: &Section<'_>) -> Option<Names> {
    let default = Names::default();
    let names = Names {
        node_id: section.or("node_id_column", default.node_id),
        password: section.or("password_column", default.password),
        enabled: section.or("enabled_column", default.enabled),
        enabled_required: section.has("enabled_column"),
    };
    let mut fit = true;
    for (key, name, others) in [
        ("node_id_column", &names.node_id, &[][..]),
        ("password_column", &names.password, &[&names.node_id]),
        ("enabled_column", &names.enabled, &[&names.node_id, &names.password]),
    ] {
        if name.is_empty() || others.contains(&name) {
            section.problem(key, "must be a name, and another one than those of the other columns");
            fit = false;
        }
    }
    fit.then_some(names)
}

#[cfg(test)]
mod tests;
