//! What a file must be, kind by kind: the right value, or the line and the sentence.

use credgate_provider::{Grammar, NodeIdRule};

use super::*;

/// Judges a file and returns the table with all problems and warnings; none may show a canary.
fn judge(bytes: impl AsRef<[u8]>, dialect: &Dialect, rules: Rules) -> (Option<Table>, Vec<String>, Vec<String>) {
    let report = Report::default();
    let bytes = Zeroizing::new(bytes.as_ref().to_vec());
    let table = Table::parse(bytes, Path::new("nodes.csv"), dialect, rules, &report);
    let problems: Vec<String> = report.problems().iter().map(ToString::to_string).collect();
    let warnings: Vec<String> = report.warnings().iter().map(ToString::to_string).collect();
    let said = format!("{problems:?} {warnings:?} {table:?}");
    assert!(!said.contains("canary"), "{said}");
    assert_eq!(table.is_some(), problems.is_empty(), "{said}");
    (table, problems, warnings)
}

fn problems(bytes: impl AsRef<[u8]>) -> Vec<String> {
    judge(bytes, &Dialect::default(), Rules::default()).1
}

fn table(bytes: impl AsRef<[u8]>) -> Table {
    let (table, problems, _) = judge(bytes, &Dialect::default(), Rules::default());
    table.unwrap_or_else(|| panic!("{problems:?}"))
}

fn password(table: &Table, node: &str) -> Option<String> {
    let node = table.rules.node_ids.parse(node).unwrap();
    table.find(&node).unwrap().map(|password| password.expose().to_owned())
}

/// Each file, and what its problems must say, in order.
fn refused(cases: &[(&str, &[&str])]) {
    for (text, wanted) in cases {
        let problems = problems(text);
        assert_eq!(problems.len(), wanted.len(), "{text:?}: {problems:?}");
        for (problem, wanted) in problems.iter().zip(*wanted) {
            let (place, text) = wanted.split_once(' ').unwrap();
            assert!(
                problem.starts_with(&format!("{place}: ")) && problem.contains(text),
                "{problem:?}, not {wanted:?}"
            );
        }
    }
}

#[test]
fn a_node_gives_exactly_its_password() {
    let table = table("node_id,password\n2000,secret\n0200,\"a,b\"\"c\"\n200,#;\\'x\n");
    for (node, wanted) in [
        ("2000", Some("secret")),
        ("0200", Some("a,b\"c")),
        ("200", Some("#;\\'x")),
        ("02000", None),
        ("20", None),
        ("20000", None),
    ] {
        assert_eq!(password(&table, node).as_deref(), wanted, "{node}");
    }
    assert_eq!((table.len(), table.disabled()), (3, 0));
}

/// C1, C3, C4.
#[test]
fn byte_order_mark_line_endings_and_a_missing_last_one_change_nothing() {
    for text in [
        "node_id,password\n2000,secret\n2001,other\n",
        "node_id,password\r\n2000,secret\r\n2001,other\r\n",
        "node_id,password\r\n2000,secret\n2001,other\r\n",
        "node_id,password\n2000,secret\n2001,other",
        "node_id,password\n\n2000,secret\r\n\r\n2001,other\n\n",
        "\u{feff}node_id,password\n2000,secret\n2001,other\n",
        "\u{feff}\"node_id\",\"password\"\r\n\"2000\",\"secret\"\r\n\"2001\",\"other\"",
        "password,note,node_id\nsecret,\"two\nlines\",2000\nother,ü,2001",
    ] {
        let table = table(text);
        assert_eq!(password(&table, "2000").as_deref(), Some("secret"), "{text:?}");
        assert_eq!(password(&table, "2001").as_deref(), Some("other"), "{text:?}");
    }
}

/// C1, C3.
#[test]
fn other_encodings_and_lone_carriage_returns_are_refused() {
    let utf_16 = |mark: &str, big: bool| -> Vec<u8> {
        let units = format!("{mark}node_id,password\n2000,canary\n");
        units.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    for bytes in [utf_16("\u{feff}", false), utf_16("\u{feff}", true), utf_16("", false), utf_16("", true)] {
        let problems = problems(bytes);
        assert!(problems.len() == 1 && problems[0].starts_with("nodes.csv:1: ") && problems[0].contains("UTF-16"));
    }
    let latin_1 = b"node_id,password,note\n2000,canary,x\n2001,canary,caf\xe9\n2002,canary\xe9,x\n";
    let wanted = [
        "nodes.csv:3: is not UTF-8 text; save the file as UTF-8",
        "nodes.csv:4: is not UTF-8 text; save the file as UTF-8",
    ];
    assert_eq!(problems(latin_1), wanted);
    assert_eq!(problems(b"node_id,password,caf\xe9\n2000,canary,x\n").len(), 1);
    refused(&[
        ("node_id,password\n2000,canary\r2001,canary\n", &["nodes.csv:2 carriage return stands alone"]),
        ("node_id,password\r2000,canary\r", &["nodes.csv:1 carriage return stands alone"]),
        ("node_id,password\n2000,canary\r\r\n2001,x\n", &["nodes.csv:2 carriage return stands alone"]),
        ("node_id,password\n2000,canary\n2001,\"can\0ary\"\n", &["nodes.csv:3 zero byte"]),
    ]);
}

/// D4, C8.
#[test]
fn a_node_that_stands_twice_is_refused_with_both_lines() {
    refused(&[
        (
            "node_id,password\n2000,canary\n2001,x\n2000,canary\n",
            &["nodes.csv:4 the same node stands in line 2 already"],
        ),
        ("node_id,password\n2000,canary1\n2000,canary2\n", &["nodes.csv:3 line 2 already"]),
        (
            "node_id,password\n2000,canary\n2000,\n",
            &["nodes.csv:3 the password is empty", "nodes.csv:3 line 2 already"],
        ),
        ("node_id,password,enabled\n2000,canary,no\n2000,canary,yes\n", &["nodes.csv:3 line 2 already"]),
        ("node_id,password,note\n2000,a,\"\n\n\"\n\n\"2000\",canary,\n", &["nodes.csv:6 line 2 already"]),
    ]);
    assert_eq!(table("node_id,password\n0200,a\n200,a\n").len(), 2);
}

/// D5.
#[test]
fn unusable_passwords_of_enabled_rows_are_refused() {
    let long = format!("node_id,password\n2000,{}\n", "canary".repeat(14));
    refused(&[
        ("node_id,password\n2000,\n", &["nodes.csv:2 the password is empty"]),
        ("node_id,password\n2000,\"\"\n", &["nodes.csv:2 the password is empty"]),
        ("node_id,password\n2000, \n2001,   \n", &["nodes.csv:2 only spaces", "nodes.csv:3 only spaces"]),
        ("node_id,password\n2000,can\tary\n", &["nodes.csv:2 not printable ASCII"]),
        ("node_id,password\n2000,\"can\nary\"\n2001,\n", &["nodes.csv:2 not printable", "nodes.csv:4 is empty"]),
        ("node_id,password\n2000,canaryé\n", &["nodes.csv:2 not printable ASCII"]),
        (&long, &["nodes.csv:2 longer than 79 bytes"]),
    ]);
}

#[test]
fn disabled_wins_over_an_unusable_password_and_nothing_else_will_do() {
    let table = table("node_id,password,enabled\n2000,,no\n2001,é,False\n2002,ok,YES\n2003, ,0\n2004,ok,1\n");
    for (node, wanted) in [("2000", None), ("2001", None), ("2002", Some("ok")), ("2003", None), ("2004", Some("ok"))] {
        assert_eq!(password(&table, node).as_deref(), wanted, "{node}");
    }
    assert_eq!((table.len(), table.disabled()), (5, 3));
    refused(&[(
        "node_id,password,enabled\n2000,canary,\n2001,canary,on\n2002,canary, no\n2003,canary,no\n",
        &["nodes.csv:2 must say true, false", "nodes.csv:3 must say", "nodes.csv:4 must say"],
    )]);
}

/// D8.
#[test]
fn blanks_around_a_password_are_kept_and_told() {
    let text = "node_id,password,enabled\n2000,canary ,1\n2001, canary,1\n2002,can ary,1\n2003,canary ,0\n";
    let (table, _, warnings) = judge(text, &Dialect::default(), Rules::default());
    assert_eq!(password(&table.unwrap(), "2000").as_deref(), Some("canary "));
    let wanted = [2, 3].map(|line| format!("nodes.csv:{line}: blanks around the password; kept as they are"));
    assert_eq!(warnings, wanted);

    let many: String = (0..500).map(|node| format!("{node}, canary\n")).collect();
    let (_, _, warnings) = judge(format!("node_id,password\n{many}"), &Dialect::default(), Rules::default());
    assert_eq!(warnings.len(), 21);
    assert_eq!(warnings[20], "nodes.csv: 480 more lines: blanks around the password; kept as they are");
}

/// A stray quote may swallow rows without breaking any rule.
#[test]
fn a_value_that_goes_on_over_lines_is_told() {
    let text = "node_id,password,note\n2000,canary,\"x\n2001,canary,x\n2002,canary,x\"\r\n2003,canary,x\n2004,a,\"\n\"";
    let (table, _, warnings) = judge(text, &Dialect::default(), Rules::default());
    assert_eq!(table.map(|table| table.len()), Some(3));
    let wanted = [2, 6]
        .map(|line| format!("nodes.csv:{line}: a quoted value goes on over several lines; nothing inside it is a row"));
    assert_eq!(warnings, wanted);
}

/// C11, C12.
#[test]
fn a_file_without_rows_or_columns_is_refused() {
    refused(&[
        ("", &["nodes.csv is empty"]),
        ("\u{feff}", &["nodes.csv is empty"]),
        ("\n\n", &["nodes.csv is empty"]),
        ("node_id,password\n", &["nodes.csv allow_empty"]),
        ("node,secret\n2000,canary\n", &["nodes.csv:1 \"node\", \"secret\"", "nodes.csv:1 password_column"]),
        ("node_id;password\n2000;canary\n", &["nodes.csv:1 header = false", "nodes.csv:1 header = false"]),
        ("2000,canary\n2001,canary\n", &["nodes.csv:1 header = false", "nodes.csv:1 header = false"]),
        ("node_id,password,password\n", &["nodes.csv:1 same name for columns 2 and 3"]),
        ("node_id,\"password\n2000,canary\n", &["nodes.csv:1 never closed"]),
    ]);
    let dialect = Dialect { allow_empty: true, ..Dialect::default() };
    assert!(judge("node_id,password\n", &dialect, Rules::default()).0.unwrap().is_empty());
    assert!(judge("", &dialect, Rules::default()).0.is_none());
}

#[test]
fn every_problem_is_listed_in_one_run() {
    refused(&[
        (
            "node_id,password\n2000\n20x0,canary\n 2001,canary\n2002,can,ary\n2003,\"canary\n2004,\"can\"ary\n2005,\n",
            &[
                "nodes.csv:2 has 1 value for 2 columns",
                "nodes.csv:3 node ID does not fit",
                "nodes.csv:4 blanks around it",
                "nodes.csv:5 has 3 values for 2 columns",
                "nodes.csv:6 followed by more text",
                "nodes.csv:7 followed by more text",
                "nodes.csv:8 the password is empty",
            ],
        ),
        ("node_id,password\n2000,a\n2001,\"canary\n2002,\n", &["nodes.csv:3 never closed", "nodes.csv:4 is empty"]),
        ("node_id,password\n\"20\"\"00\",canary\n", &["nodes.csv:2 node ID does not fit"]),
    ]);
    let twice = "2000,canary\n".repeat(1000);
    let problems = problems(format!("node_id,password\n{twice}"));
    assert_eq!((problems.len(), problems[200].as_str()), (201, "and: 799 more problems"));
}

#[test]
fn the_rules_of_the_gateway_are_those_of_the_file() {
    let text = "node_id,password\nalice,a\nAlice,b\na.b_c+d-e,c\n";
    let node_ids = NodeIdRule { grammar: Grammar::Token, max_length: 9 };
    let rules = Rules { node_ids, ..Rules::default() };
    let (table, _, _) = judge(text, &Dialect::default(), rules);
    let table = table.unwrap();
    assert_eq!(password(&table, "Alice").as_deref(), Some("b"));
    assert_eq!(password(&table, "ALICE"), None);
    assert_eq!(problems(text).len(), 3);

    let nodes: Vec<_> = table.nodes().map(|node| (node.node_id, node.enabled, node.password.is_ok())).collect();
    assert_eq!(nodes, [("alice", true, true), ("Alice", true, true), ("a.b_c+d-e", true, true)]);
}
