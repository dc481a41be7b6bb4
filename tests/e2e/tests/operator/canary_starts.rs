//! Secrets in the wrong place: the start fails or warns, and shows none of them.

use std::fs;

use credgate_support::{canary::Canary, pki::Token};

use crate::refusal::Sample;

const SECRET: &str = "canary-Secret9";

/// Both commands refuse this text and show no secret.
fn refused_unseen(sample: &Sample, text: &str, secrets: &[&str]) {
    let refusal = sample.refused(text);
    Canary::new(secrets).absent_from(text, &refusal.whole);
}

#[test]
fn in_the_configuration() {
    let sample = Sample::new();
    let token = Token::random();
    let digest = format!("\"{}\"", sample.deployment.probe.token.digest());
    for (from, to) in [
        (digest.as_str(), format!("\"{}\"", token.expose())),
        (&digest, format!("\"{SECRET}\"")),
        ("timeout = \"2s\"", format!("timeout = \"{SECRET}\"")),
        ("timeout = \"2s\"", format!("timeout = {SECRET}")),
        ("timeout = \"2s\"", format!("timeout = \"{SECRET}")),
        ("timeout = \"2s\"", format!("timeout = '''{SECRET}")),
        ("timeout = \"2s\"", format!("timeout = [\"{SECRET}\", 5 6]")),
        ("queue = 1024", format!("queue = \"{SECRET}\"")),
        ("listen = \"127.0.0.1:0\"\ntimeout", format!("listen = \"{SECRET}\"\ntimeout")),
        ("grammar = \"digits\"", format!("grammar = \"{SECRET}\"")),
        ("role = \"probe\"", format!("role = \"{SECRET}\"")),
        ("\"probe.example.net\"", format!("\"{SECRET} {SECRET}\"")),
        ("format = \"json\"", format!("format = \"{SECRET}\"")),
        ("format = \"json\"", format!("level = \"{SECRET}\"")),
        ("kind = \"csv\"", format!("kind = \"{SECRET}\"")),
        ("path = \"nodes.csv\"", format!("path = \"nodes.csv\"\ndelimiter = \"{SECRET}\"")),
        ("path = \"nodes.csv\"", format!("url = \"postgres://user:{SECRET}@host/db\"")),
        ("[health]", format!("[provider.sql]\nurl = \"postgres://user:{SECRET}@host/db\"\n[health]")),
        ("[health]", format!("[health]\npassword = {{ {SECRET} }}")),
    ] {
        refused_unseen(&sample, &sample.with(from, &to), &[SECRET, token.expose()]);
    }
}

#[test]
fn in_the_url_of_a_database() {
    let sample = Sample::new();
    let sql = |settings: &str| {
        sample.with_all(&[
            ("kind = \"csv\"", "kind = \"sql\""),
            ("[provider.csv]\npath = \"nodes.csv\"", &format!("[provider.sql]\n{settings}")),
        ])
    };
    let (url, other) = (sample.deployment.path("url"), format!("{SECRET}\n{SECRET}\n"));
    fs::write(&url, &other).unwrap();
    for settings in [
        format!("url = \"postgrs://user:{SECRET}@host/db\""),
        format!("url = \"postgres://user:{SECRET}@host:port/db\""),
        format!("url = \"{SECRET}\""),
        format!("url = \"sqlite:nodes.db?mode={SECRET}\""),
        format!("url = \"postgres://user:{SECRET}@host/db\"\nurl_file = \"url\""),
        "url_file = \"url\"".to_owned(),
    ] {
        refused_unseen(&sample, &sql(&settings), &[SECRET]);
    }
}

#[test]
fn in_the_csv_file() {
    let sample = Sample::new();
    for content in [
        format!("node_id,password\n{SECRET},2000\n"),
        format!("node_id,password\n2000,{SECRET}\n2000,{SECRET}\n"),
        format!("node_id,password\n2000,{SECRET},{SECRET}\n"),
        format!("node_id,password\n2000,\"{SECRET}\n"),
        format!("node_id,password\n2000,\"{SECRET}\"{SECRET}\n"),
        format!("node_id,password\n2000,{SECRET}\u{e9}\n"),
        format!("node_id,password\n2000,{SECRET}\r2001,x\n"),
        format!("node_id,password,enabled\n2000,x,{SECRET}\n"),
        format!("2000,{SECRET}\n2001,{SECRET}\n"),
        format!("{SECRET},{SECRET}x\n{SECRET},x\n"),
        format!("node_id;password\n2000;{SECRET}\n"),
    ] {
        fs::write(sample.deployment.path("nodes.csv"), &content).unwrap();
        refused_unseen(&sample, sample.text(), &[SECRET]);
    }
}

#[test]
fn in_the_certificate_files() {
    let sample = Sample::new();
    let key = sample.deployment.server.key_pem();
    let lines: Vec<&str> = key.lines().filter(|line| line.len() == 64).collect();
    let broken = key.replace("-----END", "?-----END");
    for content in
        [&key, &broken, &key[..key.len() / 2].to_owned(), &format!("-----BEGIN CERTIFICATE-----\n{SECRET}\n")]
    {
        for file in ["server.pem", "ca.pem"] {
            let original = fs::read(sample.deployment.path(file)).unwrap();
            fs::write(sample.deployment.path(file), content).unwrap();
            refused_unseen(&sample, sample.text(), &[&lines[..], &[SECRET]].concat());
            fs::write(sample.deployment.path(file), original).unwrap();
        }
    }
    for content in [
        &broken,
        &key[..key.len() / 2].to_owned(),
        &format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines[0]),
    ] {
        fs::write(sample.deployment.path("server.key"), content).unwrap();
        refused_unseen(&sample, sample.text(), &lines);
    }
}

#[test]
fn a_whole_list_of_secrets_in_place_of_the_configuration() {
    let sample = Sample::new();
    for text in [format!("{SECRET}\n"), format!("2000,{SECRET}\n2001,{SECRET}\n"), sample.deployment.server.key_pem()] {
        let key = text.lines().nth(1).unwrap_or(SECRET);
        refused_unseen(&sample, &text, &[SECRET, key]);
    }
}
