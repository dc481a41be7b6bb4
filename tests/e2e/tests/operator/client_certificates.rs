//! Client certificates that must be refused (T8): the client is told, the log says which check failed, a metric counts
//! the cause, and a good client notices nothing.

use std::time::{Duration, Instant};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics,
    pki::{Ca, Issued, Leaf, Purpose},
    process::{Gateway, Process},
};

use crate::refusal::BOUND;

/// A client certificate with the registrar's own name.
fn named() -> Leaf {
    Leaf::client().common_name("registrar-east").dns("registrar-east.example.net")
}

/// One refused `credgate lookup`: what the client is told, cause and detail in the log, one more in the metric.
async fn refused(
    deployment: &Deployment,
    gateway: &Gateway,
    certificate: Option<Issued>,
    told: &str,
    cause: &str,
    detail: &str,
) {
    let metric = "credgate_connections_failed_total";
    let labels = [("listener", "lookup"), ("cause", cause)];
    let before = metrics::scrape(gateway.metrics.unwrap()).await.value(metric, &labels).unwrap_or(0.0);
    let mark = gateway.log.mark();
    // Lines are let through once a second, so one that comes too soon after another of its kind is asked for again.
    let mut asked = 0.0;
    let end = Instant::now() + BOUND;
    let line = loop {
        let identity = deployment.registrar.with_certificate(certificate.clone());
        let ended = Process::run(deployment.lookup_command("2000", gateway.lookup, &identity), BOUND);
        assert_eq!(ended.exit.code, Some(4), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("credgate: tls: {told}")), "{told}: {}", ended.stderr);
        asked += 1.0;
        let failed = |text: &str| gateway.log.lines()[mark..].iter().find(|line| line.says(text)).cloned();
        if let Some(line) = failed("connection failed") {
            break line;
        }
        assert!(Instant::now() < end, "no line; {}", gateway.log.tail());
    };
    assert_eq!(line.field("cause"), Some(cause), "{}", line.text);
    assert_eq!(line.field("listener"), Some("lookup"), "{}", line.text);
    assert!(line.field("detail").unwrap().contains(detail), "{detail}: {}", line.text);
    let issuer = if cause == "certificate_of_another_ca" { "another CA" } else { "credgate test CA" };
    let whose = format!("CN=registrar-east, DNS registrar-east.example.net, issued by CN={issuer}");
    assert_eq!(line.field("certificate"), certificate.is_some().then_some(whose.as_str()), "{}", line.text);
    let counted = |metrics: &metrics::Metrics| metrics.value(metric, &labels) == Some(before + asked);
    metrics::wait_for(gateway.metrics.unwrap(), counted, BOUND).await;
}

#[tokio::test]
async fn each_wrong_client_certificate_is_refused_for_its_own_reason() {
    let deployment = Deployment::mtls().with_nodes(3);
    let gateway = deployment.start();
    let good = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let ca = &deployment.ca;
    let (day, minutes) = (Duration::from_hours(24), Duration::from_mins(5));
    for (certificate, told, cause, detail) in [
        (None, "the server requires a client certificate", "no_certificate", "no certificate"),
        (
            Some(ca.issue(&named().purposes([Purpose::Server]))),
            "the server refuses our client certificate",
            "certificate_purpose",
            "does not allow extended key usage for client authentication",
        ),
        (
            Some(ca.issue(&named().expired(day))),
            "the server says that our client certificate has expired, or is not valid yet",
            "certificate_expired",
            "expired",
        ),
        (
            Some(ca.issue(&named().not_yet_valid(minutes))),
            "the server says that our client certificate has expired, or is not valid yet",
            "certificate_not_yet_valid",
            "not valid yet",
        ),
        (
            Some(Ca::new("another CA").issue(&named())),
            "the server does not know the CA of our client certificate",
            "certificate_of_another_ca",
            "UnknownIssuer",
        ),
        (
            Some(ca.issue(&named().authority().purposes([]))),
            "the server refuses our client certificate",
            "bad_certificate",
            "CaUsedAsEndEntity",
        ),
    ] {
        refused(&deployment, &gateway, certificate, told, cause, detail).await;
        assert_eq!(good.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    }
    let fresh = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(fresh.lookup("2001").await.unwrap(), deployment.nodes.password("2001"));
}

/// What a stranger's certificate says of itself stands in one line, cut short.
#[tokio::test]
async fn a_certificate_cannot_forge_or_flood_the_log() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let subject = format!("x\n{{\"level\":\"ERROR\"}}\x1b[31m{}", "y".repeat(3000));
    let leaf = (0..50).fold(Leaf::client().common_name(&subject), |leaf, n| leaf.dns(&format!("n{n}.example.net")));
    let forged = deployment.registrar.with_certificate(Some(Ca::new("another\nCA").issue(&leaf)));
    let ended = Process::run(deployment.lookup_command("2000", gateway.lookup, &forged), BOUND);
    assert_eq!(ended.exit.code, Some(4), "{}", ended.stderr);
    let line = gateway.log.wait_for(|line| line.says("connection failed"), BOUND);
    let certificate = line.field("certificate").unwrap();
    assert!(certificate.starts_with(r#"CN=x\n{"level":"ERROR"}\u{1b}[31myyy"#), "{certificate}");
    assert!(
        certificate.contains(", DNS n0.example.net") && certificate.ends_with(r"issued by CN=another\nCA"),
        "{certificate}"
    );
    assert!(certificate.len() < 320 && !certificate.contains(|c: char| c.is_control()), "{certificate}");
}

/// In a text line the peer's words are quoted, so that none of them passes for a field of ours; names are bounded there too.
#[test]
fn a_certificate_cannot_forge_a_field_of_a_text_line() {
    let deployment = Deployment::mtls().set("log.format", "text");
    let gateway = Process::start(deployment.command(["serve"]));
    let said = |text: &str| gateway.log.wait_for(|line| line.text.contains(text), Gateway::START).text;
    let lookup =
        said(r#"listening listener="lookup" address="#).split("address=").nth(1).unwrap().trim().parse().unwrap();
    let run = |certificate| {
        let identity = deployment.registrar.with_certificate(Some(certificate));
        let ended = Process::run(deployment.lookup_command("2000", lookup, &identity), BOUND);
        assert_eq!(ended.exit.code, Some(4), "{}", ended.stderr);
    };
    run(Ca::new("another CA").issue(&Leaf::client().common_name("x peer=192.0.2.1 more=0 \"\u{202e}")));
    let line = said("connection failed");
    let wanted =
        r#" certificate="CN=x peer=192.0.2.1 more=0 \"\u{202e}, issued by CN=another CA" peer=127.0.0.1 more=0"#;
    assert!(line.ends_with(wanted), "{line}");

    run(deployment.ca.issue(&(0..2000).fold(Leaf::client(), |leaf, n| leaf.dns(&format!("n{n}.example.net")))));
    let line = said("authentication failed");
    assert!(line.contains(r#"certificate=[Dns("n0.example.net"), "#) && line.len() < 600, "{line}");
}

#[test]
fn the_control_listener_refuses_them_too_and_the_probe_says_why() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let expired = Leaf::client().common_name("probe").dns("probe.example.net").expired(Duration::from_hours(1));
    let expired = deployment.probe.with_certificate(Some(deployment.ca.issue(&expired)));
    let ended = Process::run(deployment.probe_command("readiness", gateway.control, &expired), BOUND);
    let wanted = format!(
        "readiness of {}: tls: the server says that our client certificate has expired, or is not valid yet\n",
        gateway.control
    );
    assert_eq!((ended.exit.code, ended.stderr), (Some(1), wanted));
    let line = gateway.log.wait_for(|line| line.says("connection failed"), BOUND);
    let fields = ["listener", "cause", "peer"].map(|name| line.field(name));
    assert_eq!(fields, [Some("control"), Some("certificate_expired"), Some("127.0.0.1")], "{}", line.text);
    let good = Process::run(deployment.probe_command("readiness", gateway.control, &deployment.probe), BOUND);
    assert_eq!(good.exit.code, Some(0), "{}", good.stderr);
}
