//! What fuzzing has found, and random bytes, through the same functions.

use std::{fs, path::Path};

use credgate_fuzz::TARGETS;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

#[test]
fn the_corpus_breaks_no_promise() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "corpus/{name} is empty");
        for file in files {
            target(&fs::read(&file).unwrap());
        }
    }
}

#[test]
fn random_bytes_break_no_promise() {
    for (name, target) in TARGETS {
        let cases = if name == "door" { 64 } else { 512 };
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        runner
            .run(&bytes(), |data| {
                target(&data);
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Noise, and text that looks like something.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[ -~\n]{0,200}".prop_map(String::into_bytes),
        "node_id,password(,enabled)?\n([0-9]{1,4},[a-z\" ]{0,6}(,(true|no|x))?\n){0,6}".prop_map(String::into_bytes),
        "\\[(lookup|tls|rate|provider\\.csv)\\]\n([a-z_]{1,9} = (\"[a-z0-9:.]{0,9}\"|[0-9]{1,4}|\\{\\}|\\[\\])\n){0,5}"
            .prop_map(String::into_bytes),
        "[0-9]{0,9}[HMSmunx]?".prop_map(String::into_bytes),
        "(Bearer|bearer|Basic) ?[a-z]{0,5}".prop_map(String::into_bytes),
    ]
}
