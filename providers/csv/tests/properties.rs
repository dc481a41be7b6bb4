//! Files of any shape: what is right reads back exactly, what is wrong is refused, and nothing that is said shows a
//! value. The csv crate stands by as a second opinion on how a file is written and read.

use std::{collections::BTreeMap, path::Path};

use credgate_csv::{Dialect, Rules, Table};
use credgate_provider::{NodeIdRule, Report};
use proptest::{collection, prelude::*, sample};
use zeroize::Zeroizing;

/// How one value is written.
#[derive(Clone, Debug)]
struct Style {
    crlf: bool,
    quoted: bool,
}

fn parse(bytes: &[u8], delimiter: u8) -> (Option<Table>, String) {
    let report = Report::default();
    let mut dialect = Dialect::default();
    dialect.delimiter = delimiter;
    let bytes = Zeroizing::new(bytes.to_vec());
    let table = Table::parse(bytes, Path::new("nodes.csv"), &dialect, Rules::default(), &report);
    assert_eq!(table.is_some(), report.is_clean());
    let said = format!("{:?} {:?} {table:?}", report.problems(), report.warnings());
    (table, said)
}

/// Writes a value; quotes it where it must be, or where the style says so.
fn write(text: &mut String, value: &str, delimiter: char, style: &Style) {
    if style.quoted || value.contains([delimiter, '"']) {
        text.push_str(&format!("\"{}\"", value.replace('"', "\"\"")));
    } else {
        text.push_str(value);
    }
}

fn passwords() -> impl Strategy<Value = String> {
    "[ -~]{1,79}".prop_filter("not only spaces", |password| !password.trim().is_empty())
}

fn styles() -> impl Strategy<Value = Style> {
    (any::<bool>(), any::<bool>()).prop_map(|(crlf, quoted)| Style { crlf, quoted })
}

proptest! {
    #[test]
    fn a_right_file_reads_back_exactly(
        rows in collection::btree_map("[0-9]{1,10}", (passwords(), any::<bool>(), "[ -~ü\n]{0,9}", styles()), 1..40),
        order in Just(["node_id", "note", "password", "enabled"]).prop_shuffle(),
        delimiter in sample::select(vec![',', ';', '\t', '|', ' ', '#']),
        mark: bool,
        last_ending: bool,
    ) {
        let mut text = String::from(if mark { "\u{feff}" } else { "" });
        text.push_str(&order.join(&delimiter.to_string()));
        for (node, (password, enabled, note, style)) in &rows {
            text.push_str(if style.crlf { "\r\n" } else { "\n" });
            for (position, column) in order.iter().enumerate() {
                if position > 0 {
                    text.push(delimiter);
                }
                let value = match *column {
                    "node_id" => node,
                    "password" => password,
                    "note" => note,
                    _ => if *enabled { "yes" } else { "0" },
                };
                let style = Style { quoted: style.quoted || *column == "note", ..style.clone() };
                write(&mut text, value, delimiter, &style);
            }
        }
        text.push_str(if last_ending { "\n" } else { "" });

        let (table, said) = parse(text.as_bytes(), delimiter as u8);
        let table = table.ok_or_else(|| TestCaseError::fail(format!("{said}: {text:?}")))?;
        prop_assert_eq!(table.len(), rows.len());
        for (node, (password, enabled, ..)) in &rows {
            let found = table.find(&NodeIdRule::default().parse(node).unwrap()).unwrap();
            prop_assert_eq!(found.as_ref().map(|found| found.expose()), enabled.then_some(password.as_str()));
        }
        let read: BTreeMap<_, _> = table.nodes().map(|node| (node.node_id, node.enabled)).collect();
        prop_assert!(rows.iter().all(|(node, (_, enabled, ..))| read[node.as_str()] == *enabled));
    }

    /// Whatever we accept, the csv crate reads in the same way.
    #[test]
    fn what_is_accepted_has_one_meaning(
        rows in collection::vec(sample::select(vec![
            "1,", "\"2\",", "3,", "4,", "a", "\"b\"", "\"b\"\"\"", "c\"d", "\"e,f\"", "\n", "\n", "\n", "\r\n", "\n\n", "\r",
            "\"", ",", " ",
        ]), 0..16)
    ) {
        let text = format!("node_id,password\n{}", rows.concat());
        let (Some(table), _) = parse(text.as_bytes(), b',') else { return Ok(()) };
        let ours: Vec<(String, String)> = table
            .nodes()
            .map(|node| (node.node_id.to_owned(), node.password.unwrap().expose().to_owned()))
            .collect();
        let theirs: Vec<(String, String)> =
            csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.unwrap()).collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn any_bytes_end_in_a_usable_table_or_in_problems(
        start in sample::select(vec!["", "node_id,password\n", "\u{feff}password,node_id,enabled\r\n"]),
        body in collection::vec(prop_oneof![any::<u8>(), sample::select(b"0123456789,,,\"\"\n\n\r ayes".to_vec())], 0..200),
        delimiter in sample::select(b",;\t".to_vec()),
    ) {
        let bytes = [start.as_bytes(), &body].concat();
        if let (Some(table), _) = parse(&bytes, delimiter) {
            prop_assert!(table.nodes().all(|node| !node.enabled || node.password.is_ok()));
            for node in table.nodes() {
                let found = table.find(&NodeIdRule::default().parse(node.node_id).unwrap()).unwrap();
                prop_assert_eq!(found.is_some(), node.enabled);
            }
        }
    }

    /// Canaries as passwords, under every fault that can be made of the lines around them.
    #[test]
    fn nothing_that_is_said_shows_a_value(
        header in sample::select(vec!["node_id,password,enabled", "node_id,secret", "node_id,password", "", "\"node_id"]),
        rows in collection::vec(
            (sample::select(vec!["2000", "2001", " 2002", "canary", ""]),
             sample::select(vec!["canary", " canary ", "canaryé", "can,ary", "\"canary", "\"canary\"canary", "canary\rcanary",
                 "canarycanarycanarycanarycanarycanarycanarycanarycanarycanarycanarycanarycanarycanary", "\"\""]),
             sample::select(vec!["", ",yes", ",canary", ",no,canary"])),
            0..12),
    ) {
        let rows: String = rows.iter().map(|(node, password, rest)| format!("{node},{password}{rest}\n")).collect();
        for text in [format!("{header}\n{rows}"), rows] {
            let (_, said) = parse(text.as_bytes(), b',');
            prop_assert!(!said.contains("canary") && !said.contains("can,ary"), "{}", said);
        }
    }
}
