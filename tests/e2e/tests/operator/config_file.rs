//! The configuration file itself: unreadable, not TOML, not text, named by the environment.

use std::{fs, path::Path};

use credgate_support::{
    canary::Canary,
    process::{Finished, Gateway, Process, executable},
};

use crate::refusal::{BOUND, Sample, on};

/// Both commands end with 78, and say the same.
fn refused(path: &Path) -> Finished {
    let [check, serve] = ["check-config", "serve"].map(|command| Process::run(on(path, command), BOUND));
    assert_eq!((check.exit.code, serve.exit.code), (Some(78), Some(78)), "{}{}", check.stderr, serve.stderr);
    assert_eq!(check.stderr, serve.stderr);
    check
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.toml");
    for (path, words) in [(missing.as_path(), "No such file or directory"), (dir.path(), "not a regular file")] {
        let ended = refused(path);
        let wanted = format!("error: configuration: {}: cannot be read: {words}", path.display());
        assert!(ended.stderr.starts_with(&wanted), "{}", ended.stderr);
    }
}

#[test]
fn a_file_that_is_not_text_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("credgate.toml");
    for bytes in [&b"[lookup]\nlisten = \"\xff\"\n"[..], b"\xff\xfe[\0l\0"] {
        fs::write(&path, bytes).unwrap();
        let ended = refused(&path);
        assert!(
            ended.stderr.starts_with(&format!("error: {}: is not UTF-8 text\n", path.display())),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn what_is_not_toml_is_told_with_its_line_and_without_its_text() {
    let sample = Sample::new();
    let secret = "canary-in-a-broken-line";
    let place = |line: usize| format!("{}:{line}", sample.deployment.path("credgate.toml").display());
    for broken in [
        format!("url = \"{secret}"),
        format!("url = {secret}"),
        secret.to_owned(),
        format!("url = \"a\" {secret}"),
        format!("[provider.{secret}"),
        format!("url = \"\\q{secret}\""),
        format!("url = '{secret}"),
    ] {
        let text = format!("# first\n{broken}\n{}", sample.text());
        let refusal = sample.refused(&text);
        assert!(
            refusal.errors.iter().any(|error| error.starts_with(&format!("{}: not TOML: ", place(2)))),
            "{}",
            refusal.whole
        );
        Canary::new([secret]).absent_from(&broken, &refusal.whole);
    }
}

#[test]
fn a_key_that_stands_twice_is_told_with_its_line() {
    let sample = Sample::new();
    let text = sample.with("queue = 1024", "timeout = \"3s\" # again");
    let refusal = sample.refused(&text);
    assert_eq!(refusal.errors.len(), 1, "{}", refusal.whole);
    refusal.holds_file("credgate.toml:4: ", "not TOML: duplicate key");
}

#[test]
fn an_empty_file_lacks_everything_that_is_required() {
    let sample = Sample::new();
    let refusal = sample.refused("");
    for key in ["lookup.listen", "control.listen", "tls.cert", "tls.key", "provider.kind"] {
        refusal.holds_file(&format!("credgate.toml:1: {key}: "), "is missing");
    }
    refusal.holds_file("credgate.toml:1: identity: ", "there is none, so nobody could call");
    assert_eq!(refusal.errors.len(), 6, "{}", refusal.whole);
}

#[test]
fn the_environment_names_the_file_where_the_command_line_does_not() {
    let sample = Sample::new();
    sample.accepted(sample.text());
    let path = sample.deployment.path("credgate.toml");
    let mut command = executable("credgate");
    command.arg("check-config").env("CREDGATE_CONFIG", &path);
    let ended = Process::run(command, BOUND);
    assert_eq!(ended.exit.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with(&format!("{}: good\n", path.display())), "{}", ended.stdout);

    let mut command = executable("credgate");
    command.arg("serve").env("CREDGATE_CONFIG", &path);
    Gateway::ready(Process::start(command));

    let mut command = on(&path, "check-config");
    command.env("CREDGATE_CONFIG", "/nowhere");
    assert_eq!(Process::run(command, BOUND).exit.code, Some(0), "the command line comes first");

    let mut command = executable("credgate");
    command.arg("check-config");
    let ended = Process::run(command, BOUND);
    assert_eq!(ended.exit.code, Some(1), "neither names it");
    assert!(ended.stderr.contains("--config <FILE>"), "{}", ended.stderr);
}

#[test]
fn relative_paths_start_at_the_folder_of_the_file() {
    let sample = Sample::new();
    sample.accepted(sample.text());
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = on(&sample.deployment.path("credgate.toml"), "check-config");
    command.current_dir(elsewhere.path());
    assert_eq!(Process::run(command, BOUND).exit.code, Some(0));

    let mut command = on(Path::new("credgate.toml"), "check-config");
    command.current_dir(sample.deployment.dir());
    let ended = Process::run(command, BOUND);
    assert_eq!(
        (ended.exit.code, ended.stdout.lines().next()),
        (Some(0), Some("credgate.toml: good")),
        "{}",
        ended.stderr
    );
}
