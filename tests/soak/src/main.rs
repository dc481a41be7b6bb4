//! Long runs against the release executables: literal counts and durations, and the figures that stand in the docs.
//!
//! `scripts/soak` builds and runs it; each section prints one table, and ends the run with a sentence when an answer was
//! wrong. Figures have no threshold here: they are for people to read.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed run")]

mod attacks;
mod capacity;
mod databases;
mod deployments;
mod drain;
mod faults;
mod limiter;
mod load;
mod outage;
mod probe;
mod python;
mod registrars;
mod rolling;
mod series;
mod signals;
mod sizes;
mod unit;
mod waiting;
mod writer;

use std::process::ExitCode;

/// Name of a section, and what it runs.
const SECTIONS: [(&str, fn()); 21] = [
    ("sizes", sizes::run),
    ("writer", writer::run),
    ("drain", drain::run),
    ("series", series::run),
    ("signals", signals::run),
    ("outage", outage::run),
    ("rolling", rolling::run),
    ("probe", probe::run),
    ("unit", unit::run),
    ("await", waiting::run),
    ("python-table", python::table::run),
    ("python-lookups", python::lookups::run),
    ("python-stuck", python::stuck::run),
    ("python-signals", python::signals::run),
    ("python-venv", python::venv::run),
    ("faults", faults::run),
    ("databases", databases::run),
    ("attacks", attacks::run),
    ("capacity", capacity::run),
    ("limiter", limiter::run),
    ("registrars", registrars::run),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| SECTIONS.iter().any(|(section, _)| section == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        let sections: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("soak: there is no section {unknown}; there are {}", sections.join(", "));
        return ExitCode::FAILURE;
    }
    for (name, section) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            println!("\n## {name}\n");
            section();
        }
    }
    ExitCode::SUCCESS
}
