//! The command line itself: help, versions, tokens, the protocol, and wrong usage.

use std::{fs, os::unix::fs::PermissionsExt};

use credgate_support::{
    deployment::Deployment,
    process::{Finished, Process, executable},
};

use crate::refusal::BOUND;

fn run(name: &str, args: &[&str]) -> Finished {
    let mut command = executable(name);
    command.args(args);
    Process::run(command, BOUND)
}

#[test]
fn every_subcommand_explains_itself() {
    let help = run("credgate", &["--help"]);
    assert_eq!((help.exit.code, help.stderr.as_str()), (Some(0), ""));
    let commands: Vec<&str> = help
        .stdout
        .split("Commands:")
        .nth(1)
        .unwrap()
        .split("Options:")
        .next()
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    for wanted in ["serve", "check-config", "migrate", "import", "lookup", "token", "init", "proto", "version"] {
        assert!(commands.contains(&wanted), "{wanted}: {}", help.stdout);
    }
    for command in commands.into_iter().filter(|command| *command != "help") {
        for args in [&[command, "--help"][..], &["help", command]] {
            let help = run("credgate", args);
            assert_eq!((help.exit.code, help.stderr.as_str()), (Some(0), ""), "{args:?}");
            assert!(help.stdout.contains("Usage: credgate "), "{}", help.stdout);
        }
    }
    let probe = run("credgate-probe", &["--help"]);
    assert_eq!(probe.exit.code, Some(0), "{}", probe.stderr);
    assert!(probe.stdout.contains("startup") && probe.stdout.contains("--token-file <FILE>"), "{}", probe.stdout);
    assert_eq!(run("credgate", &["token", "new", "--help"]).exit.code, Some(0));
}

#[test]
fn the_version_is_one_line() {
    let wanted = format!("credgate {}\n", env!("CARGO_PKG_VERSION"));
    for args in [["version"], ["--version"]] {
        let version = run("credgate", &args);
        assert_eq!((version.exit.code, version.stdout), (Some(0), wanted.clone()));
    }
    assert_eq!(run("credgate-probe", &["--version"]).stdout, format!("credgate-probe {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_deployment_without_a_database_is_told_once_that_it_has_none() {
    let deployment = Deployment::mtls().with_nodes(1);
    for args in [&["migrate"][..], &["import", "nodes.csv"]] {
        let refused = Process::run(deployment.command(args), BOUND);
        assert_eq!((refused.exit.code, refused.stderr.lines().count()), (Some(78), 1), "{}", refused.stderr);
        assert!(refused.stderr.contains("provider.kind: is not \"sql\""), "{}", refused.stderr);
    }
}

#[test]
fn a_file_of_nodes_that_is_missing_is_named_once() {
    let deployment = Deployment::mtls()
        .with_nodes(1)
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .set("provider.sql.url", "sqlite:nodes.db");
    assert_eq!(Process::run(deployment.command(["migrate"]), BOUND).exit.code, Some(0));
    let refused = Process::run(deployment.command(["import", "none.csv"]), BOUND);
    assert_eq!(refused.exit.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.starts_with("error: FILE: none.csv: cannot be read: "), "{}", refused.stderr);
}

#[test]
fn wrong_usage_ends_with_1_and_nothing_on_standard_output() {
    for args in [
        &[][..],
        &["start"],
        &["serve"],
        &["serve", "--config"],
        &["serve", "--config", "a", "--config", "b"],
        &["serve", "--config", "a", "--port", "1"],
        &["serve", "--config", "a", "more"],
        &["check-config", "--open"],
        &["lookup"],
        &["lookup", "2000"],
        &["lookup", "2000", "--addr", "127.0.0.1:1"],
        &["lookup", "2000", "--addr", "127.0.0.1:1", "--token-file", "t"],
        &["lookup", "2000", "--addr", "127.0.0.1:1", "--token-file", "t", "--ca", "c", "--cert", "x"],
        &["lookup", "2000", "--addr", "127.0.0.1:1", "--token-file", "t", "--ca", "c", "--plaintext"],
        &["lookup", "2000", "--addr", "127.0.0.1:1", "--token-file", "t", "--ca", "c", "--timeout", "soon"],
        &["lookup", "2000", "--addr", "192.0.2.1:1", "--token-file", "t", "--plaintext"],
        &["lookup", "2000", "--addr", "here", "--token-file", "t", "--plaintext"],
        &["token"],
        &["token", "old"],
        &["init"],
        &["init", "x", "--port", "many"],
        &["proto", "--json"],
        &["version", "1"],
    ] {
        let ended = run("credgate", args);
        assert_eq!(ended.exit.code, Some(1), "{args:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.is_empty() && !ended.stderr.is_empty(), "{args:?}: {}{}", ended.stdout, ended.stderr);
    }
}

#[test]
fn nobody_there_is_unavailable_and_not_a_missing_node() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "x".repeat(40)).unwrap();
    // A port that was free a moment ago, on an address that only this host has.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (token, addr) = (token.to_str().unwrap(), port.to_string());
    let ended = run("credgate", &["lookup", "2000", "--addr", &addr, "--token-file", token, "--plaintext"]);
    assert_eq!(ended.exit.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("credgate: connect: connection refused\n"), "{}", ended.stderr);
}

#[test]
fn a_new_token_is_printed_with_its_digest() {
    let parts = |output: &str| {
        let lines: Vec<&str> = output.lines().collect();
        let [token, digest] = lines.as_slice() else { panic!("{output}") };
        (token.strip_prefix("token  ").unwrap().to_owned(), digest.strip_prefix("sha256 ").unwrap().to_owned())
    };
    let one = run("credgate", &["token", "new"]);
    assert_eq!((one.exit.code, one.stderr.as_str()), (Some(0), ""));
    let (token, digest) = parts(&one.stdout);
    assert!(token.starts_with("credgate_") && token.len() == 52, "{token}");
    assert_eq!(digest, sha256(&token));
    assert_ne!(parts(&run("credgate", &["token", "new"]).stdout).0, token);
}

#[test]
fn a_new_token_in_a_file_is_shown_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("registrar.token");
    let made = run("credgate", &["token", "new", "--token-file", path.to_str().unwrap()]);
    assert_eq!((made.exit.code, made.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let content = fs::read_to_string(&path).unwrap();
    let token = content.strip_suffix('\n').unwrap();
    let wanted = format!("token  written to {}\nsha256 {}\n", path.display(), sha256(token));
    assert_eq!(made.stdout, wanted);

    let again = run("credgate", &["token", "new", "--token-file", path.to_str().unwrap()]);
    assert_eq!((again.exit.code, again.stdout.as_str()), (Some(1), ""));
    assert!(again.stderr.contains("registrar.token: File exists"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), content);
}

#[test]
fn the_protocol_is_printed_as_it_stands_in_the_repository() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/proto/credgate/v1/credential.proto");
    let printed = run("credgate", &["proto"]);
    assert_eq!((printed.exit.code, printed.stdout), (Some(0), fs::read_to_string(file).unwrap()));
}

/// By coreutils, not by our own code.
fn sha256(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    fs::write(&path, text).unwrap();
    let mut command = std::process::Command::new("sha256sum");
    command.arg(path);
    Process::run(command, BOUND).stdout.split(' ').next().unwrap().to_owned()
}
