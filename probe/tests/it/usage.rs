//! Mistakes of the caller: exit code 1, one line, the file or the flag by name, no value.

use std::fs;

use crate::{pki::Pki, run::Probe};

const ADDRESS: &str = "127.0.0.1:9";

#[tokio::test]
async fn help_and_version_are_no_failures() {
    for flag in ["--help", "--version"] {
        let ended = Probe::new("readiness", ADDRESS).and(flag).run().await;
        assert!(ended.code == 0 && ended.stdout.contains("credgate-probe"), "{ended:?}");
    }
}

#[tokio::test]
async fn flags() {
    let pki = Pki::new();
    let plain =
        |address: &str| Probe::new("readiness", address).with("--token-file", pki.file("token")).and("--plaintext");
    for (probe, wanted) in [
        (Probe::new("readiness", ADDRESS), "credgate-probe: usage: missing: --token-file <FILE>, --ca <FILE>"),
        (Probe::new("canary", ADDRESS), "credgate-probe: usage: no usable value for <NAME>"),
        (plain(ADDRESS).with("--ca", pki.file("ca.pem")), "credgate-probe: usage: these exclude each other"),
        (plain(ADDRESS).with("--server-name", "a"), "credgate-probe: usage: these exclude each other"),
        (Probe::without_certificate(&pki, ADDRESS).with("--cert", "a"), "credgate-probe: usage: missing: --key <FILE>"),
        (
            Probe::complete(&pki, ADDRESS).with("--timeout", "soon"),
            "credgate-probe: usage: no usable value for --timeout",
        ),
        (Probe::complete(&pki, ADDRESS).with("--token", "canary"), "credgate-probe: usage: unknown argument --token"),
        (plain("192.0.2.1:9"), "usage: --plaintext: allowed for a loopback address only"),
        (plain("gateway.example.net:9"), "usage: --plaintext: allowed for a loopback address only"),
        (Probe::complete(&pki, "127.0.0.1"), "usage: --addr: expected HOST:PORT"),
        (Probe::complete(&pki, "::1:9"), "usage: --addr: an IPv6 address is written in brackets"),
    ] {
        let text = probe.failure().await;
        assert!(text.starts_with(wanted), "{text}");
    }
}

#[tokio::test]
async fn token_files() {
    let pki = Pki::new();
    let token = "canary_0123456789abcdef0123456789abcdef";
    for (content, usable) in [
        (format!("{token}\n"), true),
        (format!("{token}\r\n"), true),
        (token.to_owned(), true),
        (format!("{token}\n\n"), false),
        (format!("\u{feff}{token}"), false),
        (format!("{token} {token}"), false),
        (format!("{token} "), false),
        (String::new(), false),
        ("\n".to_owned(), false),
        ("canary".to_owned(), false),
    ] {
        fs::write(pki.dir().join("odd-token"), &content).unwrap();
        let probe = Probe::new("readiness", ADDRESS)
            .with("--ca", pki.file("ca.pem"))
            .with("--token-file", pki.file("odd-token"));
        let text = probe.failure().await;
        let named = text.starts_with("files: ") && text.contains("odd-token: ");
        assert_eq!(named, !usable, "{text}");
        assert_eq!(text.starts_with("connect: "), usable, "{text}");
    }
}

#[tokio::test]
async fn every_bad_file_on_one_line() {
    let pki = Pki::new();
    let probe = Probe::new("readiness", ADDRESS)
        .with("--ca", "/nowhere/ca\n.pem")
        .with("--token-file", "/nowhere/token")
        .with("--cert", pki.file("client.key"))
        .with("--key", pki.file("client.pem"));
    let text = probe.failure().await;
    assert!(text.starts_with("files: /nowhere/ca\\n.pem: cannot be read"), "{text}");
    for part in
        ["client.key: holds no certificate", "client.pem: holds a certificate and no private key", "token: cannot"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}
