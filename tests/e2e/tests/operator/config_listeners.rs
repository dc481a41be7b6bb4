//! Plaintext and public listeners.

use crate::refusal::Sample;

const TLS: &str = "cert = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"";
const PLAIN: [(&str, &str); 3] = [
    (TLS, "insecure_plaintext = true"),
    ("san = [\"registrar-east.example.net\"]", ""),
    ("san = [\"probe.example.net\"]", ""),
];

#[test]
fn plaintext_is_for_loopback_alone() {
    let sample = Sample::new();
    assert_eq!(sample.accepted(&sample.with_all(&PLAIN)), [""; 0]);
    for (from, to) in [
        ("listen = \"127.0.0.1:0\"\ntimeout", "listen = \"0.0.0.0:0\"\ntimeout"),
        ("listen = \"127.0.0.1:0\" # control", "listen = \"[::]:0\""),
        ("listen = \"127.0.0.1:0\" # control", "listen = \"192.0.2.1:0\""),
    ] {
        let text = sample.with_all(&[&PLAIN[..], &[(from, to)]].concat());
        let words = "is allowed only when lookup.listen and control.listen are loopback addresses";
        sample.refused(&text).says(&[("insecure_plaintext", "tls.insecure_plaintext", words)]);
    }
    sample.accepted(
        &sample.with_all(&[&PLAIN[..], &[("listen = \"127.0.0.1:0\" # control", "listen = \"[::1]:0\"")]].concat()),
    );
}

#[test]
fn plaintext_contradicts_certificates() {
    let sample = Sample::new();
    // Certificate names are dropped with the client CA.
    for (also, others) in
        [("cert = \"server.pem\"", &PLAIN[1..]), ("key = \"server.key\"", &PLAIN[1..]), ("client_ca = \"ca.pem\"", &[])]
    {
        let tls = format!("insecure_plaintext = true\n{also}");
        let text = sample.with_all(&[&[(TLS, tls.as_str())], others].concat());
        let words = "contradicts cert, key and client_ca; choose one";
        sample.refused(&text).says(&[("insecure_plaintext", "tls.insecure_plaintext", words)]);
    }
}

#[test]
fn metrics_beyond_loopback_are_a_warning() {
    let sample = Sample::new();
    let warnings = sample.accepted(&sample.with("127.0.0.1:0\" # metrics", "0.0.0.0:0\" # metrics"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains(": metrics.listen: is not a loopback address: this listener has no auth"),
        "{warnings:?}"
    );
}
