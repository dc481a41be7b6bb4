//! The gateway's own certificates: each fault is one line that names the file, which certificate of it, and what to do.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use credgate_support::{
    canary::Canary,
    deployment::{Deployment, SERVER_NAME},
    metrics,
    pki::{Ca, Issued, Leaf, Purpose},
    process::Process,
};

use crate::refusal::{BOUND, Sample};

const DAY: Duration = Duration::from_hours(24);

pub fn leaf() -> Leaf {
    Leaf::server().common_name("gateway").dns(SERVER_NAME)
}

/// A sample whose gateway holds another certificate.
pub fn with_server(issue: impl FnOnce(&Ca) -> Issued) -> Sample {
    let sample = Sample::new();
    issue(&sample.deployment.ca).write(sample.deployment.dir(), "server");
    sample
}

/// The one error stands at `key`, names `file`, and holds each of the words.
pub fn refused(sample: &Sample, key: &str, file: &str, words: &[&str]) {
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
fn a_certificate_that_ends_soon_serves_and_is_logged_at_start() {
    let deployment = Deployment::mtls();
    let soon = deployment.ca.issue(&leaf().ip([127, 0, 0, 1]).expires_in(DAY * 5));
    let deployment = deployment.with_server(soon);
    let gateway = deployment.start();
    let logged = gateway.log.wait_for(|line| line.says("configuration"), BOUND);
    let words = "server.pem: certificate 1 (CN=gateway) expires on ";
    assert!(logged.field("warning").unwrap().contains(words), "{}", logged.text);
    let found = Process::run(deployment.lookup_command("2000", gateway.lookup, &deployment.registrar), BOUND);
    assert_eq!(found.exit.code, Some(0), "{}", found.stderr);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_each_certificate_ends_is_a_metric() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let page = metrics::scrape(gateway.metrics.unwrap()).await;
    for (key, position) in [("cert", "1"), ("client_ca", "1")] {
        let labels = [("key", key), ("position", position)];
        let end = page.value("credgate_certificate_expiry_timestamp_seconds", &labels).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!(end > now + 3600.0, "{key}: {end}");
    }
}
