//! The gateway's own certificates: each fault is one line that names the file, which certificate of it, and what to do.

use std::{fs, time::Duration};

use credgate_support::{
    canary::Canary,
    deployment::SERVER_NAME,
    pki::{Ca, Issued, Leaf, Purpose},
};

use crate::refusal::Sample;

const DAY: Duration = Duration::from_hours(24);

fn leaf() -> Leaf {
    Leaf::server().common_name("gateway").dns(SERVER_NAME)
}

/// A sample whose gateway holds another certificate.
fn with_server(issue: impl FnOnce(&Ca) -> Issued) -> Sample {
    let sample = Sample::new();
    issue(&sample.deployment.ca).write(sample.deployment.dir(), "server");
    sample
}

/// The one error stands at `key`, names `file`, and holds each of the words.
fn refused(sample: &Sample, key: &str, file: &str, words: &[&str]) {
    let refusal = sample.refused(sample.text());
    let anchor = format!("{key} = ");
    let path = sample.deployment.path(file).display().to_string();
    for words in [&[path.as_str()], words].concat() {
        refusal.says(&[(&anchor, &format!("tls.{key}"), words)]);
    }
    let secrets = [sample.deployment.server.key_pem()].map(|pem| pem.lines().nth(1).unwrap().to_owned());
    Canary::new(secrets).absent_from("the refusal", &refusal.whole);
}

#[test]
fn a_certificate_out_of_its_time_is_told_with_the_date() {
    let expired = with_server(|ca| ca.issue(&leaf().expired(DAY)));
    refused(&expired, "cert", "server.pem", &["certificate 1 (CN=gateway)", "expired on "]);
    let early = with_server(|ca| ca.issue(&leaf().not_yet_valid(DAY)));
    refused(
        &early,
        "cert",
        "server.pem",
        &["certificate 1 (CN=gateway)", "is not valid before ", "is the clock right?"],
    );
}

#[test]
fn a_certificate_that_ends_within_30_days_is_a_warning() {
    for (left, warned) in [(DAY * 29, true), (DAY * 31, false)] {
        let sample = with_server(|ca| ca.issue(&leaf().expires_in(left)));
        let warnings = sample.accepted(sample.text());
        assert_eq!(warnings.len(), usize::from(warned), "{warnings:?}");
        if let Some(warning) = warnings.first() {
            let path = sample.deployment.path("server.pem").display().to_string();
            let words = format!(": tls.cert: {path}: certificate 1 (CN=gateway) expires on ");
            assert!(warning.contains(&words), "{warning}");
        }
    }
}

#[test]
fn a_key_of_another_pair_is_told_with_the_certificate_it_should_fit() {
    let sample = with_server(|ca| ca.issue(&leaf()).with_key_of(&ca.issue(&leaf())));
    refused(
        &sample,
        "key",
        "server.key",
        &["server.key: does not belong to the first certificate of /", "/server.pem"],
    );
}

#[test]
fn swapped_files_are_told_at_both_keys() {
    let sample = Sample::new();
    let text =
        sample.with("cert = \"server.pem\"\nkey = \"server.key\"", "cert = \"server.key\"\nkey = \"server.pem\"");
    let refusal = sample.refused(&text);
    refusal.says(&[
        ("cert = ", "tls.cert", "server.key: holds no certificate in PEM form; it holds a private key"),
        ("key = ", "tls.key", "server.pem: holds a certificate and no private key; are `cert` and `key` swapped?"),
    ]);
    let pem = sample.deployment.server.key_pem();
    Canary::new([pem.lines().nth(1).unwrap()]).absent_from("the refusal", &refusal.whole);
}

#[test]
fn a_file_without_what_belongs_in_it_is_told_what_it_holds() {
    for (key, file, content, words) in [
        ("cert", "server.pem", "", "holds no certificate in PEM form; no PEM block of that kind is in it"),
        ("cert", "server.pem", "-----BEGIN CERTIFICATE-----\nMIIB", "without its END line; is the file cut off?"),
        ("cert", "server.pem", "-----BEGIN CERTIFICATE-----\n§§\n-----END CERTIFICATE-----\n", "is not base64"),
        (
            "cert",
            "server.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "certificate 1 is not a readable X.509 certificate",
        ),
        (
            "client_ca",
            "ca.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "certificate 1 is not a readable X.509 certificate",
        ),
        ("client_ca", "ca.pem", "# to be filled in\n", "holds no certificate in PEM form"),
        ("key", "server.key", "", "holds no private key in PEM form"),
        ("key", "server.key", "-----BEGIN PRIVATE KEY-----\nMIIB", "without its END line; is the file cut off?"),
        ("key", "server.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "cannot be used"),
        (
            "key",
            "server.key",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "holds an encrypted private key; decrypt it first (openssl pkey",
        ),
        (
            "key",
            "server.key",
            "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n",
            "holds an encrypted private key; decrypt it first (openssl pkey",
        ),
    ] {
        let sample = Sample::new();
        fs::write(sample.deployment.path(file), content).unwrap();
        refused(&sample, key, file, &[words]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_the_systems_reason() {
    for (key, file) in [("cert", "server.pem"), ("key", "server.key"), ("client_ca", "ca.pem")] {
        let sample = Sample::new();
        fs::remove_file(sample.deployment.path(file)).unwrap();
        refused(&sample, key, file, &["cannot be read: No such file or directory"]);
        fs::create_dir(sample.deployment.path(file)).unwrap();
        refused(&sample, key, file, &["cannot be read: not a regular file"]);
    }
}

#[test]
fn a_certificate_for_something_else_is_refused() {
    let root = with_server(Ca::as_leaf);
    refused(
        &root,
        "cert",
        "server.pem",
        &["the first certificate (CN=credgate test CA) is a CA", "put the server's certificate first"],
    );
    let middle = with_server(|ca| ca.intermediate("middle").as_leaf());
    refused(&middle, "cert", "server.pem", &["the first certificate (CN=middle) is an intermediate CA"]);
    for purpose in [Purpose::Client, Purpose::CodeSigning] {
        let other = with_server(|ca| ca.issue(&leaf().purposes([purpose])));
        refused(&other, "cert", "server.pem", &["is not for servers (extended key usage has no serverAuth)"]);
    }
    let none = with_server(|ca| ca.issue(&leaf().purposes([])));
    none.accepted(none.text());
}

#[test]
fn a_chain_out_of_order_is_told() {
    let sample = with_server(|ca| ca.intermediate("middle").issue(&leaf()));
    assert_eq!(sample.accepted(sample.text()), [""; 0]);

    let reversed = with_server(|ca| ca.intermediate("middle").issue(&leaf()).reversed());
    let refusal = reversed.refused(reversed.text());
    refusal.says(&[
        (
            "cert = ",
            "tls.cert",
            "the first certificate (CN=middle) is an intermediate CA; put the server's certificate first",
        ),
        ("cert = ", "tls.cert", "certificate 2 did not issue certificate 1; the order is server, then each issuer"),
        ("key = ", "tls.key", "does not belong to the first certificate"),
    ]);
}

#[test]
fn a_client_ca_that_is_none_or_out_of_its_time_is_refused() {
    for (ca, words) in [
        (Ca::new("x").issue(&leaf()).chain_pem(), "certificate 1 (CN=gateway) is not a CA; it takes the CA"),
        (Ca::valid_for("old root", time::Duration::days(-1)).pem(), "certificate 1 (CN=old root) expired on "),
    ] {
        let sample = Sample::new();
        fs::write(sample.deployment.path("ca.pem"), &ca).unwrap();
        refused(&sample, "client_ca", "ca.pem", &[words]);
        // Beside a good one, it is told which.
        fs::write(sample.deployment.path("ca.pem"), format!("{}{ca}", sample.deployment.ca.pem())).unwrap();
        refused(&sample, "client_ca", "ca.pem", &[&words.replace("certificate 1", "certificate 2")]);
    }
    let sample = Sample::new();
    fs::write(sample.deployment.path("ca.pem"), Ca::valid_for("short", time::Duration::days(5)).pem()).unwrap();
    let warnings = sample.accepted(sample.text());
    assert!(warnings.len() == 1 && warnings[0].contains("certificate 1 (CN=short) expires on "), "{warnings:?}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let sample =
        with_server(|ca| ca.issue(&leaf().purposes([Purpose::Client]).expired(DAY)).with_key_of(&ca.issue(&leaf())));
    fs::write(sample.deployment.path("ca.pem"), Ca::valid_for("old root", time::Duration::days(-1)).pem()).unwrap();
    sample.refused(sample.text()).says(&[
        ("cert = ", "tls.cert", "is not for servers"),
        ("cert = ", "tls.cert", "expired on"),
        ("key = ", "tls.key", "does not belong to the first certificate"),
        ("client_ca = ", "tls.client_ca", "expired on"),
    ]);
    fs::remove_file(sample.deployment.path("server.key")).unwrap();
    fs::write(sample.deployment.path("server.pem"), "").unwrap();
    sample.refused(sample.text()).says(&[
        ("cert = ", "tls.cert", "holds no certificate"),
        ("key = ", "tls.key", "No such file"),
        ("client_ca = ", "tls.client_ca", "expired on"),
    ]);
}

#[test]
fn a_key_that_everybody_may_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let sample = Sample::new();
    let key = sample.deployment.path("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let warnings = sample.accepted(sample.text());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let words = format!("{} holds a secret and is readable by every user (chmod o-r", key.display());
    assert!(warnings[0].contains(": tls.key: ") && warnings[0].contains(&words), "{warnings:?}");
}
