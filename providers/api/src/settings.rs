//! Reading a configuration file so that every problem is found in one run, with its line and a hint.
//!
//! A [`Section`] is one table of the file. Each key is asked for by name and type; what is wrong goes into the shared
//! [`Report`] and a default stands in, so that reading goes on. [`Section::finish`] reports the keys nobody asked for.
//! No value is ever shown: a key that expects a number may hold a password by mistake.

mod value;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fmt,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use crate::{Effective, Report, report};
pub use value::{Entry, Setting, Table, Value};

/// A parsed configuration file.
#[derive(Debug)]
pub struct Document {
    file: PathBuf,
    table: Table,
}

impl Document {
    /// Reads and parses `file`.
    pub fn read(file: &Path, report: &Report) -> Option<Self> {
        let (bytes, loaded) = report.file("configuration", credgate_files::read(file))?;
        report.loaded(loaded);
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(Self::parse(file, text, report)),
            Err(_) => {
                report.problem(file.display(), "is not UTF-8 text");
                None
            }
        }
    }

    /// Parses the text of `file`. Syntax errors become problems; what could be read is kept.
    pub fn parse(file: &Path, text: &str, report: &Report) -> Self {
        let (table, errors) = value::parse(text);
        for (line, message) in errors {
            report.problem(report::place(file, line), format!("not TOML: {message}"));
        }
        Self { file: file.to_owned(), table }
    }

    /// The top of the file.
    pub fn root<'a>(&'a self, report: &'a Report) -> Section<'a> {
        Section::new(&self.file, String::new(), 1, Some(&self.table), report)
    }
}

/// One table of a configuration file; an absent one reads as empty.
pub struct Section<'a> {
    file: &'a Path,
    /// `provider.csv`; empty at the top.
    path: String,
    line: usize,
    table: Option<&'a Table>,
    asked: RefCell<BTreeSet<&'static str>>,
    report: &'a Report,
}

impl<'a> Section<'a> {
    fn new(file: &'a Path, path: String, line: usize, table: Option<&'a Table>, report: &'a Report) -> Self {
        Self { file, path, line, table, asked: RefCell::default(), report }
    }

    /// Whether the table stands in the file at all.
    pub fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Whether a key stands in this table. It is then one of those that were asked for.
    pub fn has(&self, key: &'static str) -> bool {
        self.entry(key).is_some()
    }

    /// Where a key stands, for a problem found later: `credgate.toml:12: lookup.timeout`.
    pub fn place(&self, key: &str) -> String {
        let line = self.table.and_then(|table| table.get(key)).map_or(self.line, |entry| entry.line);
        let separator = if self.path.is_empty() || key.is_empty() { "" } else { "." };
        format!("{}: {}{separator}{key}", report::place(self.file, line), self.path)
    }

    /// Notes a problem with a key.
    pub fn problem(&self, key: &str, text: impl fmt::Display) {
        self.report.problem(self.place(key), text);
    }

    /// Notes a warning about a key.
    pub fn warning(&self, key: &str, text: impl fmt::Display) {
        self.report.warning(self.place(key), text);
    }

    /// A key that may be absent.
    pub fn optional<T: Setting>(&self, key: &'static str) -> Option<T> {
        let value = self.read::<T>(key)?;
        self.show(key, value.shown(), None);
        Some(value)
    }

    /// A key that must be there.
    pub fn required<T: Setting>(&self, key: &'static str) -> Option<T> {
        if !self.has(key) {
            self.problem(key, format!("is missing; expected {}", T::EXPECTED));
        }
        self.optional(key)
    }

    /// A key with a default.
    pub fn or<T: Setting>(&self, key: &'static str, default: T) -> T {
        let shown = default.shown();
        let value = self.read(key).unwrap_or(default);
        self.show(key, value.shown(), shown);
        value
    }

    /// A key with a default and a range.
    pub fn within<T: Setting + PartialOrd + fmt::Debug>(
        &self,
        key: &'static str,
        default: T,
        range: RangeInclusive<T>,
    ) -> T {
        let shown = default.shown();
        let value = self.optional_within(key, range).unwrap_or(default);
        self.show(key, value.shown(), shown);
        value
    }

    /// A key that may be absent, with a range.
    pub fn optional_within<T: Setting + PartialOrd + fmt::Debug>(
        &self,
        key: &'static str,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        let value = self.optional(key)?;
        if range.contains(&value) {
            return Some(value);
        }
        self.problem(key, format!("is out of range; allowed are {} to {}", range.start().show(), range.end().show()));
        None
    }

    /// A key that takes one of a few words; the first is the default.
    pub fn choice<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let default = words.first()?;
        let given = match self.has(key) {
            true => self.read::<String>(key)?,
            false => default.0.to_owned(),
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
            self.show(key, Some(given), Some(default.0.to_owned()));
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.problem(key, format!("knows only {}{}", known.join(", "), suggestion(&given, &known)));
        None
    }

    /// A path; relative ones start at the folder of the configuration file.
    pub fn path(&self, key: &'static str) -> Option<PathBuf> {
        self.optional::<String>(key).map(|path| self.base().join(path))
    }

    /// A path that must be there.
    pub fn required_path(&self, key: &'static str) -> Option<PathBuf> {
        self.required::<String>(key).map(|path| self.base().join(path))
    }

    /// A table below this one.
    pub fn section(&self, key: &'static str) -> Section<'a> {
        let path = self.below(key);
        match self.entry(key) {
            Some(Entry { line, value: Value::Table(table) }) => {
                Section::new(self.file, path, *line, Some(table), self.report)
            }
            other => {
                if other.is_some() {
                    self.problem(key, "expected a table");
                }
                Section::new(self.file, path, self.line, None, self.report)
            }
        }
    }

    /// The tables of `[[key]]`.
    pub fn sections(&self, key: &'static str) -> Vec<Section<'a>> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let Value::Array(entries) = &entry.value else {
            self.problem(key, format!("expected tables, each headed [[{}]]", self.below(key)));
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match &entry.value {
                Value::Table(table) => sections.push(Section::new(
                    self.file,
                    format!("{}[{index}]", self.below(key)),
                    entry.line,
                    Some(table),
                    self.report,
                )),
                _ => self.problem(key, "expected nothing but tables"),
            }
        }
        sections
    }

    /// Reports the keys of this table that nobody asked for.
    pub fn finish(&self) {
        let asked = self.asked.borrow();
        let known: Vec<&str> = asked.iter().copied().collect();
        for key in self.table.into_iter().flat_map(Table::keys).filter(|key| !asked.contains(key.as_str())) {
            let hint = match suggestion(key, &known) {
                hint if hint.is_empty() => format!("; known here: {}", known.join(", ")),
                hint => hint,
            };
            self.problem(key, format!("is not a setting{hint}"));
        }
    }

    /// Notes what a setting is in the end, for those that may be shown. Tables of a list say who, not how: they are left
    /// out.
    pub fn show(&self, key: &str, value: Option<String>, default: Option<String>) {
        if let Some(value) = value.filter(|_| !self.path.contains('[')) {
            self.report.effective(Effective { key: self.below(key), value, default });
        }
    }

    fn read<T: Setting>(&self, key: &'static str) -> Option<T> {
        let entry = self.entry(key)?;
        T::read(&entry.value).map_err(|text| self.problem(key, text)).ok()
    }

    fn entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().insert(key);
        self.table?.get(key)
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn base(&self) -> &'a Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

impl fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").field("path", &self.path).finish_non_exhaustive()
    }
}

/// `; did you mean "csv"?`, or nothing when nothing is near.
pub fn suggestion(given: &str, known: &[&str]) -> String {
    let near = 1 + given.len() / 5;
    known
        .iter()
        .map(|word| (strsim::osa_distance(given, word), word))
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(distance, _)| *distance)
        .map_or(String::new(), |(_, word)| format!("; did you mean \"{word}\"?"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FILE: &str = r#"
[lookup]
timout = "2s"
queue = "many"
slots = 0
[provider]
kind = "cvs"
[[identity]]
name = 7
"#;

    #[test]
    fn every_problem_is_found_with_its_line_and_no_value() {
        let report = Report::default();
        let document = Document::parse(Path::new("c.toml"), FILE, &report);
        let root = document.root(&report);
        let lookup = root.section("lookup");
        assert_eq!(lookup.or("timeout", Duration::from_secs(2)), Duration::from_secs(2));
        assert_eq!(lookup.or("queue", 5_usize), 5);
        assert_eq!(lookup.within("slots", 3_usize, 1..=10), 3);
        lookup.required::<String>("listen");
        lookup.finish();
        root.section("provider").choice("kind", &[("csv", 1), ("sql", 2)]);
        root.sections("identity")[0].required::<String>("name");
        root.finish();
        let problems: Vec<String> = report.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "c.toml:4: lookup.queue: expected a whole number",
                "c.toml:5: lookup.slots: is out of range; allowed are 1 to 10",
                "c.toml:2: lookup.listen: is missing; expected text",
                "c.toml:3: lookup.timout: is not a setting; did you mean \"timeout\"?",
                "c.toml:7: provider.kind: knows only csv, sql; did you mean \"csv\"?",
                "c.toml:9: identity[0].name: expected text",
            ]
        );
    }

    #[test]
    fn syntax_errors_show_no_line_of_the_file() {
        let report = Report::default();
        Document::parse(Path::new("c.toml"), "a = 1\nurl = \"postgres://canary\nb = canary\n", &report);
        let text = format!("{:?}", report.problems());
        assert!(text.contains("c.toml:2") && !text.contains("canary"), "{text}");
    }
}
