//! Rounds: every subject once, one after the other, so that whatever slows the machine for a while slows all of them.
//!
//! A shared machine is quiet only now and then, so rounds can be collected in a file over several runs: a line of JSON each.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{BufRead as _, BufReader, Seek as _, Write as _},
    path::Path,
    time::Duration,
};

use crate::{
    NODES,
    measure::{self, Measured},
    subject::{Kind, Subject},
};

/// What each subject has shown in one round.
pub type Round = BTreeMap<Kind, Measured>;

/// Starts all subjects and asks them so often.
pub fn run(kinds: &[Kind], rounds: usize, time: Duration) -> Vec<Round> {
    let subjects: Vec<Subject> = kinds.iter().map(|kind| Subject::start(*kind, NODES)).collect();
    let round = |number| {
        let ask = |subject: &Subject| {
            eprintln!("round {number} of {rounds}: {}", subject.kind.name());
            (subject.kind, measure::measure(subject, time))
        };
        subjects.iter().map(ask).collect()
    };
    (1..=rounds).map(round).collect()
}

/// Adds rounds to those of a file; gives back all.
pub fn collect(file: &Path, rounds: &[Round]) -> Vec<Round> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(file).unwrap();
    for round in rounds {
        writeln!(file, "{}", serde_json::to_string(round).unwrap()).unwrap();
    }
    file.rewind().unwrap();
    BufReader::new(file).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}
