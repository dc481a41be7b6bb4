//! Everything that is wrong with a configuration, in one list.

use std::{
    cell::{Cell, RefCell},
    fmt,
    path::Path,
};

use credgate_files::{FileError, Loaded};

/// One thing that is wrong: where, and what to do about it. Never shows a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File and line, or file and key: `credgate.toml:12: lookup.timeout`, `nodes.csv:7`.
    pub place: String,
    /// The sentence.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// A setting whose value may be shown: a number, a duration, a switch, an address, or one of a few words; never text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// `lookup.timeout`
    pub key: String,
    /// What it is now.
    pub value: String,
    /// What it is when nobody sets it, if there is such a value.
    pub default: Option<String>,
}

impl Effective {
    /// Whether somebody set it to something else than the default, or had to set it.
    pub fn is_changed(&self) -> bool {
        self.default.as_ref() != Some(&self.value)
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

/// Collects problems, warnings, and which files were read. Shared by everybody who reads a part of the configuration.
#[derive(Debug, Default)]
pub struct Report {
    problems: List,
    warnings: List,
    loaded: RefCell<Vec<Loaded>>,
    effective: RefCell<Vec<Effective>>,
}

impl Report {
    /// The most problems, and the most warnings, that are listed; the rest is counted. Enough to see the pattern in a file of a million lines.
    pub const MOST: usize = 200;

    /// Notes a problem: the gateway will not start.
    pub fn problem(&self, place: impl fmt::Display, text: impl fmt::Display) {
        self.problems.push(place, text);
    }

    /// Notes a warning: the gateway starts, and says it.
    pub fn warning(&self, place: impl fmt::Display, text: impl fmt::Display) {
        self.warnings.push(place, text);
    }

    /// Takes what a file reader returned: its file is remembered, its error becomes a problem at `place`.
    pub fn file<T>(&self, place: impl fmt::Display, result: Result<T, FileError>) -> Option<T> {
        result.map_err(|error| self.problem(place, error)).ok()
    }

    /// Remembers that a file is part of what was loaded, to notice when it changes.
    pub fn loaded(&self, file: Loaded) {
        self.loaded.borrow_mut().push(file);
    }

    /// Remembers a file that holds a secret, and warns when the whole host may read it.
    pub fn loaded_secret(&self, place: impl fmt::Display, file: Loaded) {
        if file.world_readable() {
            let path = file.path().display();
            self.warning(place, format!("{path} holds a secret and is readable by every user (chmod o-r {path})"));
        }
        self.loaded(file);
    }

    /// Remembers the value of a setting that may be shown; a second one of the same key replaces the first.
    pub fn effective(&self, setting: Effective) {
        let mut list = self.effective.borrow_mut();
        match list.iter_mut().find(|one| one.key == setting.key) {
            Some(one) => *one = setting,
            None => list.push(setting),
        }
    }

    /// The settings that may be shown, in the order they were read.
    pub fn settings(&self) -> Vec<Effective> {
        self.effective.borrow().clone()
    }

    /// Whether anything forbids the start.
    pub fn is_clean(&self) -> bool {
        self.problems.items.borrow().is_empty()
    }

    /// The problems, in the order found.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.all("problems")
    }

    /// The warnings, in the order found.
    pub fn warnings(&self) -> Vec<Problem> {
        self.warnings.all("warnings")
    }

    /// The files that were read.
    pub fn files(&self) -> Vec<Loaded> {
        self.loaded.borrow().clone()
    }
}

/// A list that does not grow without bound.
#[derive(Debug, Default)]
struct List {
    items: RefCell<Vec<Problem>>,
    unlisted: Cell<usize>,
}

impl List {
    fn push(&self, place: impl fmt::Display, text: impl fmt::Display) {
        let mut items = self.items.borrow_mut();
        if items.len() < Report::MOST {
            items.push(Problem { place: place.to_string(), text: text.to_string() });
        } else {
            self.unlisted.set(self.unlisted.get() + 1);
        }
    }

    fn all(&self, word: &str) -> Vec<Problem> {
        let mut items = self.items.borrow().clone();
        if self.unlisted.get() > 0 {
            items.push(Problem { place: "and".into(), text: format!("{} more {word}", self.unlisted.get()) });
        }
        items
    }
}

/// A file's place in a report: its path and a line.
pub(crate) fn place(file: &Path, line: usize) -> String {
    format!("{}:{line}", file.display())
}
