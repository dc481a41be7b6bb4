//! `[provider]`: which kind, and that several problems of any kind come in one run.

use std::fs;

use crate::refusal::Sample;

#[test]
fn an_unknown_kind_is_answered_with_those_there_are() {
    let sample = Sample::new();
    for (kind, words) in [("cvs", "did you mean \"csv\"?"), ("ldap", "knows only csv, sql")] {
        let change = format!("kind = \"{kind}\"");
        let text = sample.with("kind = \"csv\"", &change);
        let refusal = sample.refused(&text);
        refusal.says(&[(&change, "provider.kind", words)]);
        assert!(refusal.errors[0].contains("knows only csv, sql"), "{}", refusal.whole);
    }
}

#[test]
fn the_table_of_another_kind_is_refused() {
    let sample = Sample::new();
    let text = sample.with("[health]", "[provider.sql]\nurl = \"sqlite:nodes.db\"\n\n[health]");
    let words = "is the table of another kind than provider.kind = \"csv\"";
    sample.refused(&text).says(&[("[provider.sql]", "provider.sql", words)]);
}

#[test]
fn the_settings_of_a_csv_file_are_judged() {
    let sample = Sample::new();
    for (settings, key, words) in [
        ("delimiter = \"ab\"", "delimiter", "expected one ASCII character"),
        ("delimiter = \"x\"", "delimiter", "no letter, digit, quote or line ending"),
        ("columns = [\"node_id\", \"password\"]", "columns", "goes with header = false only"),
        ("node_id_column = \"password\"", "password_column", "another one than those of the other columns"),
    ] {
        let text = sample.with("path = \"nodes.csv\"", &format!("path = \"nodes.csv\"\n{settings}"));
        let anchor = if key == "password_column" { "[provider.csv]" } else { settings };
        sample.refused(&text).says(&[(anchor, &format!("provider.csv.{key}"), words)]);
    }
    let text = sample.with("path = \"nodes.csv\"", "path = \"nodes.csv\"\nheader = false");
    let words = "is missing; header = false needs it: columns = [\"node_id\", \"password\"]";
    sample.refused(&text).says(&[("[provider.csv]", "provider.csv.columns", words)]);
}

#[test]
fn every_problem_of_every_kind_is_told_in_one_run() {
    let sample = Sample::new();
    fs::write(sample.deployment.path("nodes.csv"), "node_id,password\n2000,secret\n2000,other\n2001,\n").unwrap();
    fs::write(sample.deployment.path("server.key"), "not a key").unwrap();
    let text = sample.with_all(&[
        ("listen = \"127.0.0.1:0\"\ntimeout", "listen = \"nowhere\"\ntimeout"),
        ("queue = 1024", "queu = 1024"),
        ("grammar = \"digits\"", "grammar = \"letters\""),
        ("listen = \"127.0.0.1:0\" # control", ""),
        ("handshakes = 256", "handshakes = 0"),
        ("role = \"probe\"", "role = \"prober\""),
        ("per_second = 100000", "per_second = 0"),
        ("path = \"nodes.csv\"", "path = \"nodes.csv\"\nencoding = \"latin1\""),
        ("interval = \"5s\"", "interval = 5"),
        ("drain_timeout = \"5s\"", "drain_timeout = \"forever\""),
        ("# metrics", "\nport = 9464"),
        ("format = \"json\"", "format = \"xml\"\n\n[tracing]"),
    ]);
    let refusal = sample.refused(&text);
    for key in [
        "lookup.listen",
        "lookup.queu",
        "lookup.node_id.grammar",
        "control.listen",
        "limits.handshakes",
        "tls.key",
        "identity[1].role",
        "rate.global.per_second",
        "provider.csv.encoding",
        "health.interval",
        "shutdown.drain_timeout",
        "metrics.port",
        "log.format",
        "tracing",
    ] {
        assert!(refusal.errors.iter().any(|error| error.contains(&format!(": {key}: "))), "{key}: {}", refusal.whole);
    }
    refusal.holds_file("nodes.csv:3: ", "the same node stands in line 2 already");
    refusal.holds_file("nodes.csv:4: ", "the password is empty");
    assert_eq!(refusal.errors.len(), 16, "{}", refusal.whole);
}

#[test]
fn a_broken_certificate_file_makes_no_false_problems_elsewhere() {
    let sample = Sample::new();
    fs::write(sample.deployment.path("server.pem"), "not a certificate").unwrap();
    sample.refused(sample.text()).says(&[("cert = ", "tls.cert", "holds no certificate in PEM form")]);
}

#[test]
fn a_long_list_of_bad_rows_hides_no_other_problem() {
    let sample = Sample::new();
    let rows: String = (0..300).map(|node| format!("{node},\n")).collect();
    fs::write(sample.deployment.path("nodes.csv"), format!("node_id,password\n{rows}")).unwrap();
    let text = sample.with_all(&[("[log]", "[logs]"), ("queue = 1024", "slots = 5000")]);
    let refusal = sample.refused(&text);
    for words in [": logs: is not a setting", ": the password is empty", "and: 10"] {
        assert!(refusal.errors.iter().any(|error| error.contains(words)), "{words}: {}", refusal.whole);
    }
}
