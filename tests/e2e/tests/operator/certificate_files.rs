//! The files of `[tls]`: swapped, empty, cut off, encrypted, unreadable, and keys of another pair.

use std::{fs, os::unix::fs::PermissionsExt};

use credgate_support::canary::Canary;

use crate::{
    certificates::{leaf, refused, with_server},
    refusal::Sample,
};

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
            "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nAAAA\n-----END PRIVATE KEY-----\n",
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
fn a_key_that_everybody_may_read_is_a_warning() {
    let sample = Sample::new();
    let key = sample.deployment.path("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let warnings = sample.accepted(sample.text());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let words = format!("{} holds a secret and is readable by every user (chmod o-r", key.display());
    assert!(warnings[0].contains(": tls.key: ") && warnings[0].contains(&words), "{warnings:?}");
}
