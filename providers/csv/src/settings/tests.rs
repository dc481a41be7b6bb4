//! The settings table, through the kind as the gateway uses it, on files in a folder of their own.

use std::{fs, path::Path, time::Duration};

use credgate_provider::{Deadline, Kind, NodeIdRule, PasswordRule, Provider, Report, Site, Slot, settings::Document};
use futures::FutureExt;
use tempfile::TempDir;

use crate::CsvKind;

/// Prepares and opens from `[provider.csv]` with these settings and this `nodes.csv`.
fn open(settings: &str, nodes: &str) -> (Option<Box<dyn Provider>>, Vec<String>, Report, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("nodes.csv"), nodes).unwrap();
    let report = Report::default();
    let document = Document::parse(&dir.path().join("c.toml"), settings, &report);
    let prepared = CsvKind.prepare(&document.root(&report), &site(dir.path()), &report);
    let provider = prepared.map(|prepared| {
        assert_eq!(prepared.slots(), 1024);
        prepared.open(Deadline::after(Duration::from_secs(1))).now_or_never().unwrap().unwrap()
    });
    let base = format!("{}/", dir.path().display());
    let problems: Vec<String> =
        report.problems().iter().map(|problem| problem.to_string().replace(&base, "")).collect();
    assert!(!format!("{problems:?}").contains("canary"), "{problems:?}");
    assert!(provider.is_some() || !problems.is_empty());
    (provider, problems, report, dir)
}

fn site(base: &Path) -> Site {
    Site {
        base: base.to_owned(),
        node_ids: NodeIdRule::default(),
        passwords: PasswordRule::default(),
        lookup_timeout: Duration::from_secs(2),
        lookup_slots: None,
    }
}

fn password(provider: &dyn Provider, node: &str) -> Option<String> {
    let node = NodeIdRule::default().parse(node).unwrap();
    let deadline = Deadline::after(Duration::from_secs(1));
    let answer = provider.lookup(&node, deadline, Slot::new(())).now_or_never().unwrap();
    answer.unwrap().map(|password| password.expose().to_owned())
}

#[test]
fn every_dialect_that_can_be_configured_is_read() {
    for (settings, nodes, summary) in [
        ("path = 'nodes.csv'", "node_id,password\n2000,secret\n", "1 node from nodes.csv"),
        ("path = 'nodes.csv'\ndelimiter = ';'", "node_id;password\n2000;secret\n", "1 node from nodes.csv"),
        ("path = 'nodes.csv'\ndelimiter = \"\\t\"", "password\tnode_id\nsecret\t2000\n", "1 node from nodes.csv"),
        (
            "path = 'nodes.csv'\nheader = false\ncolumns = ['node_id', 'password']",
            "2000,secret\n",
            "1 node from nodes.csv",
        ),
        (
            "path = 'nodes.csv'\nheader = false\ncolumns = ['on', 'id', '', 'pw', '']\n\
             node_id_column = 'id'\npassword_column = 'pw'\nenabled_column = 'on'",
            "yes,2000,x,secret,\nno,2001,x,,\n",
            "2 nodes (1 disabled) from nodes.csv",
        ),
    ] {
        let (provider, problems, ..) = open(settings, nodes);
        let provider = provider.unwrap_or_else(|| panic!("{settings}: {problems:?}"));
        assert_eq!(password(&*provider, "2000").as_deref(), Some("secret"), "{settings}");
        assert_eq!(password(&*provider, "2001"), None, "{settings}");
        assert_eq!(provider.summary(), summary);
    }
}

#[test]
fn wrong_settings_are_all_told_with_their_line() {
    let nodes = "user,secret\n2000,canary\n";
    for (settings, wanted) in [
        ("", &["c.toml:1: path: is missing; expected text"][..]),
        (
            "path = 'nodes.csv'\npassword_column = 'secret'\nnode_id_column = 'user'\nheadr = false",
            &["c.toml:4: headr: is not a setting; did you mean \"header\"?"],
        ),
        ("path = 'nodes.csv'\ndelimiter = '::'", &["c.toml:2: delimiter: expected one ASCII character"]),
        ("path = 'nodes.csv'\ndelimiter = 'é'", &["c.toml:2: delimiter: expected one ASCII character"]),
        ("path = 'nodes.csv'\ndelimiter = '\"'", &["c.toml:2: delimiter: expected one ASCII character"]),
        ("path = 'nodes.csv'\ncolumns = ['a']", &["c.toml:2: columns: goes with header = false only"]),
        ("path = 'nodes.csv'\nheader = false", &["c.toml:1: columns: is missing"]),
        (
            "path = 'nodes.csv'\nheader = false\ncolumns = ['node', 'password', 'password']",
            &[
                "c.toml:3: columns: has the same name for columns 2 and 3",
                "c.toml:3: columns: has no column \"node_id\"",
            ],
        ),
        ("path = 'nodes.csv'\npassword_column = 'node_id'", &["c.toml:2: password_column: must be a name"]),
        (
            "path = 'nodes.csv'\nnode_id_column = 'user'\npassword_column = 'secrt'\nenabled_column = 'enabled'",
            &[
                "nodes.csv:1: the header has no column \"secrt\" (provider.csv.password_column); its columns are \"user\", \
                 \"secret\"; did you mean \"secret\"?",
                "nodes.csv:1: the header has no column \"enabled\" (provider.csv.enabled_column)",
            ],
        ),
    ] {
        let (_, problems, ..) = open(settings, nodes);
        assert_eq!(problems.len(), wanted.len(), "{problems:?}");
        for (problem, wanted) in problems.iter().zip(wanted) {
            assert!(problem.starts_with(wanted), "{problem:?}, not {wanted:?}");
        }
    }
}

#[test]
fn a_missing_file_is_a_problem_of_its_setting() {
    let (_, problems, ..) = open("path = 'nodes.txt'", "");
    assert!(problems[0].starts_with("c.toml:1: path: ") && problems[0].contains("nodes.txt: cannot be read"));
}

/// C11: deleted after start.
#[test]
fn the_loaded_table_serves_on_whatever_becomes_of_the_file() {
    let (provider, _, report, dir) = open("path = 'nodes.csv'", "node_id,password\n2000,secret\n");
    let provider = provider.unwrap();
    assert_eq!(report.files().len(), 1);
    for change in ["node_id,password\n2000,other\n", ""] {
        fs::write(dir.path().join("nodes.csv"), change).unwrap();
        assert_eq!(report.files()[0].state(), credgate_files::FileState::Differs);
        assert_eq!(password(&*provider, "2000").as_deref(), Some("secret"));
    }
    dir.close().unwrap();
    assert_eq!(report.files()[0].state(), credgate_files::FileState::Gone);
    assert_eq!(password(&*provider, "2000").as_deref(), Some("secret"));
    assert!(provider.check(Deadline::after(Duration::ZERO)).now_or_never().unwrap().is_ok());
}
