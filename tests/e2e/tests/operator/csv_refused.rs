//! CSV files that must not be served: both commands refuse them with line numbers and without values.

use std::fs;

use credgate_support::canary::Canary;

use crate::refusal::{Refusal, Sample};

/// A canary in a place where a password stands.
const SECRET: &str = "canary-Secret9";

fn refused(content: impl AsRef<[u8]>) -> Refusal {
    let sample = Sample::new();
    fs::write(sample.deployment.path("nodes.csv"), content).unwrap();
    let refusal = sample.refused(sample.text());
    Canary::new([SECRET]).absent_from("the refusal", &refusal.whole);
    refusal
}

/// Exactly these lines of the file, each with these words; line 0 is the file as a whole.
fn says(content: impl AsRef<[u8]>, wanted: &[(usize, &str)]) {
    let refusal = refused(content);
    assert_eq!((refusal.errors.len(), refusal.warnings.len()), (wanted.len(), 0), "{}", refusal.whole);
    for (line, words) in wanted {
        let place = if *line == 0 { "nodes.csv: ".to_owned() } else { format!("nodes.csv:{line}: ") };
        refusal.holds_file(&place, words);
    }
}

#[test]
fn a_node_that_stands_twice_is_told_with_both_lines() {
    let same = "the same node stands in line 2 already; one row per node";
    says(format!("node_id,password\n2000,{SECRET}\n2001,x\n2000,other\n"), &[(4, same)]);
    says(format!("node_id,password\n2000,{SECRET}\n2000,{SECRET}\n"), &[(3, same)]);
    says(format!("node_id,password,enabled\n2000,{SECRET},yes\n2000,{SECRET},no\n"), &[(3, same)]);
    says(format!("node_id,password\n2000,{SECRET}\n2000,\n"), &[(3, same), (3, "the password is empty")]);
    says("node_id,password\n200,a\n0200,b\n00200,c\n200,d\n", &[(5, same)]);
}

#[test]
fn a_password_that_cannot_be_handed_out_is_told() {
    let long = "x".repeat(80);
    let rows = [
        ("2000,", "the password is empty"),
        ("2001,\"\"", "the password is empty"),
        ("2002, ", "the password is only spaces"),
        ("2003,    ", "the password is only spaces"),
        (&format!("2004,{long}"), "the password is longer than 79 bytes (lookup.password.max_bytes)"),
        (&format!("2005,{SECRET}\t"), "the password holds a character that is not printable ASCII"),
        (&format!("2006,{SECRET}é"), "the password holds a character that is not printable ASCII"),
    ];
    for (row, words) in rows {
        says(format!("node_id,password\n1,good\n{row}\n"), &[(3, words)]);
    }
    let all: String = rows.iter().map(|(row, _)| format!("{row}\n")).collect();
    let lines: Vec<(usize, &str)> = rows.iter().enumerate().map(|(index, (_, words))| (index + 2, *words)).collect();
    says(format!("node_id,password\n{all}"), &lines);

    let spread = refused(format!("node_id,password\n2000,\"{SECRET}\n\"\n"));
    spread.holds_file("nodes.csv:2: ", "the password holds a character that is not printable ASCII");
    assert!(spread.warnings[0].contains("nodes.csv:2: a quoted value goes on over several lines"), "{}", spread.whole);
}

#[test]
fn a_node_id_outside_the_grammar_is_told() {
    let words = "the node ID does not fit lookup.node_id";
    for node in ["", "20a0", "12345678901", "-1", "2000.0", "２０００"] {
        says(format!("node_id,password\n{node},{SECRET}\n"), &[(2, words)]);
    }
    says(format!("node_id,password\n 2000,{SECRET}\n"), &[(2, "lookup.node_id; it has blanks around it")]);
}

#[test]
fn an_enabled_that_is_no_word_of_it_is_told() {
    for word in ["", "on", "2", "ja", " true"] {
        let words = "the column for enabled must say true, false, 1, 0, yes or no";
        says(format!("node_id,password,enabled\n2000,{SECRET},{word}\n"), &[(2, words)]);
    }
}

#[test]
fn a_row_that_is_cut_or_too_long_is_told() {
    says("node_id,password\n2000\n", &[(2, "has 1 value for 2 columns")]);
    says(
        format!("node_id,password\n2000,a,{SECRET}\n"),
        &[(2, "has 3 values for 2 columns; a value that holds the delimiter goes in quotes")],
    );
    says(
        format!("node_id,password\n2000,\"{SECRET}\n2001,x\n"),
        &[(2, "a quote opens a value here and is never closed")],
    );
    says(format!("node_id,password\n2000,\"{SECRET}\"x\n"), &[(2, "is followed by more text")]);
}

#[test]
fn a_carriage_return_alone_is_told() {
    let words = "a carriage return stands alone; lines end with LF or CR LF";
    says(format!("node_id,password\n2000,{SECRET}\r2001,b\n"), &[(2, words)]);
    says(format!("node_id,password\r2000,{SECRET}\r"), &[(1, words)]);
    says(format!("node_id,password\r\n2000,{SECRET}\r\r\n"), &[(2, words)]);
}

#[test]
fn another_encoding_is_told() {
    let utf16: Vec<u8> = "node_id,password\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    says(
        [&b"\xff\xfe"[..], &utf16].concat(),
        &[(1, "is UTF-16 text (it begins with that byte order mark); save it as UTF-8")],
    );
    says(&utf16, &[(1, "holds a zero byte, as UTF-16 text does")]);
    says([b"node_id,password\n2000,", SECRET.as_bytes(), b"\xe9\n"].concat(), &[(2, "is not UTF-8 text")]);
}

#[test]
fn a_header_without_the_columns_is_told_with_those_it_has() {
    let columns = "its columns are \"node_id\", \"pass\"";
    says(format!("node_id,pass\n2000,{SECRET}\n"), &[(1, columns)]);
    says(
        "node,secret\n2000,x\n",
        &[(1, "has no column \"node_id\" (provider.csv.node_id_column)"), (1, "has no column \"password\"")],
    );
    says("node_id,password,password\n2000,x,y\n", &[(1, "has the same name for columns 2 and 3")]);
    says("node_id,password,Enabled\n2000,x,no\n", &[(1, "differs from \"enabled\" only in case or blanks")]);
    let headerless = refused(format!("2000,{SECRET}\n2001,{SECRET}\n"));
    assert!(headerless.whole.contains("a file without one needs header = false and columns"), "{}", headerless.whole);
}

#[test]
fn a_configured_column_that_the_header_lacks_is_told_with_those_it_has() {
    let sample = Sample::new();
    let path = "path = \"nodes.csv\"";
    for (setting, file, words) in [
        (
            "node_id_column = \"number\"",
            "node_id,password\n1,x\n",
            "has no column \"number\" (provider.csv.node_id_column); its columns are \"node_id\", \"password\"",
        ),
        (
            "enabled_column = \"active\"",
            "node_id,password,enabled\n1,x,1\n",
            "has no column \"active\" (provider.csv.enabled_column)",
        ),
    ] {
        fs::write(sample.deployment.path("nodes.csv"), file).unwrap();
        let refusal = sample.refused(&sample.with(path, &format!("{path}\n{setting}")));
        refusal.holds_file("nodes.csv:1: ", words);
    }
}

#[test]
fn nothing_to_serve_is_refused_unless_it_is_meant() {
    says("", &[(0, "is empty; its first line must be the header")]);
    says("\n\n", &[(0, "is empty; its first line must be the header")]);
    says("node_id,password\n", &[(0, "holds no rows; if that is meant, set provider.csv.allow_empty = true")]);

    let sample = Sample::new();
    fs::write(sample.deployment.path("nodes.csv"), "node_id,password\n").unwrap();
    sample.accepted(&sample.with("path = \"nodes.csv\"", "path = \"nodes.csv\"\nallow_empty = true"));
}

#[test]
fn a_file_that_cannot_be_read_is_told_at_its_setting() {
    let sample = Sample::new();
    let file = sample.deployment.path("nodes.csv");
    fs::remove_file(&file).unwrap();
    sample.refused(sample.text()).says(&[(
        "nodes.csv",
        "provider.csv.path",
        "cannot be read: No such file or directory",
    )]);
    fs::create_dir(&file).unwrap();
    sample.refused(sample.text()).says(&[("nodes.csv", "provider.csv.path", "cannot be read: not a regular file")]);
}
