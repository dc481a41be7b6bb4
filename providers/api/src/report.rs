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

/// Collects problems, warnings, and which files were read. Shared by everybody who reads a part of the configuration.
#[derive(Debug, Default)]
pub struct Report {
    problems: RefCell<Vec<Problem>>,
    unlisted: Cell<usize>,
    warnings: RefCell<Vec<Problem>>,
    loaded: RefCell<Vec<Loaded>>,
}

impl Report {
    /// The most problems that are listed; the rest is counted. Enough to see the pattern in a file of a million lines.
    pub const MOST: usize = 200;

    /// Notes a problem: the gateway will not start.
    pub fn problem(&self, place: impl fmt::Display, text: impl fmt::Display) {
        push(&self.problems, &self.unlisted, place, text);
    }

    /// Notes a warning: the gateway starts, and says it.
    pub fn warning(&self, place: impl fmt::Display, text: impl fmt::Display) {
        push(&self.warnings, &Cell::new(0), place, text);
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

    /// Whether anything forbids the start.
    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    /// The problems, in the order found.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.borrow().clone();
        if self.unlisted.get() > 0 {
            problems.push(Problem { place: "and".into(), text: format!("{} more problems", self.unlisted.get()) });
        }
        problems
    }

    /// The warnings, in the order found.
    pub fn warnings(&self) -> Vec<Problem> {
        self.warnings.borrow().clone()
    }

    /// The files that were read.
    pub fn files(&self) -> Vec<Loaded> {
        self.loaded.borrow().clone()
    }
}

fn push(list: &RefCell<Vec<Problem>>, unlisted: &Cell<usize>, place: impl fmt::Display, text: impl fmt::Display) {
    let mut list = list.borrow_mut();
    if list.len() < Report::MOST {
        list.push(Problem { place: place.to_string(), text: text.to_string() });
    } else {
        unlisted.set(unlisted.get() + 1);
    }
}

/// A file's place in a report: its path and a line.
pub(crate) fn place(file: &Path, line: usize) -> String {
    format!("{}:{line}", file.display())
}
