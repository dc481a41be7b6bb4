//! Answers of the unit's own process, one by one. The unit is the test's process, which answers what it is told.

use std::{convert::Infallible, net::SocketAddr, process, time::Duration};

use credgate_support::process::{Process, Signal};
use http::Response;
use rustls::ServerConfig;
use tonic::{Code, Status, body::Body};

use crate::{
    gateway::Gateway,
    ground::{Ended, Ground, Unit, ended, page, place, told},
    pki::{Pki, TOKEN},
};

async fn always(tls: Option<ServerConfig>, code: Code) -> Gateway {
    let service = tower::service_fn(move |_| async move {
        Ok::<Response<Body>, Infallible>(Status::new(code, "canary of the server's text").into_http())
    });
    Gateway::start(&format!("{}:0", place()), tls, service).await
}

/// `--pid` of this process, and who asks.
fn words(pki: &Pki, gateway: &Gateway) -> Vec<String> {
    let file = |name| pki.dir().join(name).display().to_string();
    let mut words = vec!["--pid".into(), process::id().to_string(), "--addr".into(), gateway.address.to_string()];
    words.extend(["--server-name".into(), "localhost".into(), "--ca".into(), file("ca.pem")]);
    words.extend(["--token-file".into(), file("token")]);
    words.extend(["--cert".into(), file("client.pem"), "--key".into(), file("client.key")]);
    words
}

fn refused(ended: &Ended, gateway: &Gateway, answer: &str) {
    let wanted = format!(
        "{} {answer} while process {} runs; the service refuses the request, so the wait does not go on",
        gateway.address,
        process::id()
    );
    assert_eq!(ended.refusal(), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_statuses_end_the_wait_at_once() {
    let (ground, pki) = (Ground::new(), Pki::new());
    for (code, answer) in [
        (
            Code::Unauthenticated,
            "answered UNAUTHENTICATED (the gateway does not accept this token, or the certificate belongs to another identity)",
        ),
        (Code::PermissionDenied, "answered PERMISSION_DENIED (this identity may not ask for health)"),
        (Code::Unimplemented, "answered UNIMPLEMENTED (the server has no health service; is it a credgate gateway?)"),
        (Code::NotFound, "answered NOT_FOUND (the server has no health status of this name)"),
        (Code::InvalidArgument, "answered INVALID_ARGUMENT"),
    ] {
        let gateway = always(Some(pki.server("server", true)), code).await;
        refused(&ended(&ground.wait(words(&pki, &gateway))), &gateway, answer);
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_statuses_are_read_again() {
    let (ground, pki) = (Ground::new(), Pki::new());
    for (code, answer) in [
        (Code::Unavailable, "UNAVAILABLE"),
        (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
        (Code::Internal, "INTERNAL"),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    ] {
        let gateway = always(Some(pki.server("server", true)), code).await;
        let wait = ground.wait(words(&pki, &gateway));
        told(&wait, &format!("runs; {} answered {answer}; reading it again", gateway.address));
        while gateway.accepted() < 3 {
            assert!(wait.is_running());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        wait.signal(Signal::TERM);
        assert_eq!(ended(&wait).code, Some(143), "{answer}");
        gateway.drain();
    }
}

/// "TLS refusal from the unit's own socket": what no waiting changes.
#[tokio::test(flavor = "multi_thread")]
async fn disagreement_about_certificates_or_protocol_ends_the_wait() {
    let (ground, pki, stranger) = (Ground::new(), Pki::new(), Pki::named("another CA"));
    pki.issue("expired", &["localhost"], 2021);
    let mutual = always(Some(pki.server("server", true)), Code::Unavailable).await;
    let expired = always(Some(pki.server("expired", true)), Code::Unavailable).await;
    let plain = always(None, Code::Unavailable).await;
    let mut without = words(&pki, &mutual);
    without.truncate(without.len() - 4);
    for (gateway, words, cause) in [
        (&mutual, without, "tls: the server requires a client certificate"),
        (&mutual, words(&stranger, &mutual), "tls: the server's certificate is not signed by the given CA"),
        (&expired, words(&pki, &expired), "tls: the server's certificate has expired"),
        (&plain, words(&pki, &plain), "tls: the server speaks no TLS (is it plaintext?)"),
    ] {
        refused(&ended(&ground.wait(words)), gateway, &format!("gave no answer ({cause})"));
    }
    let mut plaintext =
        vec!["--pid".to_owned(), process::id().to_string(), "--addr".into(), mutual.address.to_string()];
    plaintext.extend(["--plaintext".into(), "--token-file".into(), pki.file("token").display().to_string()]);
    let answer = "gave no answer (http2: the server speaks TLS; leave plaintext out)";
    refused(&ended(&ground.wait(plaintext)), &mutual, answer);
    let page = ["--pid".to_owned(), process::id().to_string(), "--addr".into(), format!("http://{}/", mutual.address)];
    let refusal = ended(&ground.wait(page)).refusal();
    assert!(refusal.contains("gave no answer (http: the server does not speak HTTP/1) while"), "{refusal}");
}

/// HTTP: "2xx, 4xx, 5xx". A detour is no success and no refusal.
#[test]
fn pages_by_their_status() {
    let ground = Ground::new();
    for (status, wanted) in
        [("200", Some(0)), ("204", Some(0)), ("400", Some(1)), ("404", Some(1)), ("503", None), ("302", None)]
    {
        let address = (place(), 9464).into();
        let unit = Unit::start([format!("listen {address} {status}")]);
        ground.says_running("gate", &unit.0);
        let wait = ground.wait(page("gate", address));
        if wanted.is_none() {
            told(&wait, &format!("answered HTTP {status}; reading it again"));
            wait.signal(Signal::INT);
        }
        let ended = ended(&wait);
        assert_eq!(ended.code, wanted.or(Some(130)), "{status}: {ended:?}");
        if wanted == Some(1) {
            let text = format!("answered HTTP {status} while unit gate runs; the service refuses the request");
            assert!(ended.refusal().contains(&text), "{ended:?}");
        }
    }
}

/// A unit that accepts and says nothing: each read ends by itself, and the wait goes on.
#[test]
fn a_silent_unit_is_read_again() {
    let ground = Ground::new();
    let address = (place(), 9464).into();
    let unit = Unit::start([format!("bind {address}")]);
    ground.says_running("gate", &unit.0);
    let mut command = ground.command(["await", "--timeout", "100ms", "--interval", "50ms"]);
    command.args(page("gate", address));
    let wait = Process::start(command);
    told(&wait, "gave no answer (http: timed out); reading it again");
    unit.0.signal(Signal::KILL);
    ground.says_failed("gate");
    let refusal = ended(&wait).refusal();
    assert!(refusal.starts_with("unit gate is no longer running"), "{refusal}");
}

/// A secret in a URL or a token never appears.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_printed() {
    let (ground, pki) = (Ground::new(), Pki::new());
    let gateway = always(Some(pki.server("server", true)), Code::NotFound).await;
    let address = SocketAddr::new(place(), 9464);
    let unit = Unit::start([format!("listen {address} 404")]);
    let mut words = words(&pki, &gateway);
    words.extend(["--pid".into(), unit.pid().to_string(), "--addr".into(), format!("http://{address}/?token=canary")]);
    let ended = ended(&ground.wait(words));
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(ended.code == Some(1) && !all.contains("canary") && !all.contains(TOKEN), "{all}");
}
