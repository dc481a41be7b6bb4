//! `check-source`: "a running source's probe URL must answer 2xx once; any other answer refuses".

use credgate_client::ServingStatus;
use credgate_support::{deployment::Deployment, pki::Token};

use crate::ground::{BOUND, Ground, Moody, Unit, place};

#[test]
fn a_gateway_that_serves_and_one_that_is_away() {
    let (ground, deployment) = (Ground::new(), Deployment::mtls());
    let gateway = deployment.start();
    let words =
        || [vec!["check-source".into()], deployment.client_arguments(gateway.control, &deployment.probe)].concat();
    assert_eq!(ground.run(words()).served(), [format!("{} answered SERVING", gateway.control)]);
    gateway.terminate();
    gateway.wait(BOUND);
    let wanted = format!("{} gave no answer (connect: connection refused)", gateway.control);
    assert_eq!(ground.run(words()).refusal(), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_not_ready_or_refuses() {
    let (ground, moody) = (Ground::new(), Moody::start().await);
    let Moody { deployment, gateway, .. } = &moody;
    let words =
        |identity| [vec!["check-source".into()], deployment.client_arguments(gateway.control, identity)].concat();
    let stranger = deployment.probe.with_token(Token::random());
    let wanted = "answered UNAUTHENTICATED (the gateway does not accept this token, or the certificate belongs to another identity)";
    assert_eq!(ground.run(words(&stranger)).refusal(), format!("{} {wanted}", gateway.control));
    moody.becomes(ServingStatus::NotServing).await;
    let wanted = format!("{} answered NOT_SERVING", gateway.control);
    assert_eq!(ground.run(words(&deployment.probe)).refusal(), wanted);
}

#[test]
fn pages_and_the_first_that_refuses() {
    let ground = Ground::new();
    let address = |port: u16| format!("{}:{port}", place());
    let (good, bad, redirect, closed) = (address(81), address(82), address(83), address(84));
    let _unit =
        Unit::start([format!("listen {good} 204"), format!("listen {bad} 503"), format!("listen {redirect} 302")]);
    let words = |addresses: &[&String]| {
        let flags = addresses.iter().flat_map(|address| ["--addr".to_owned(), format!("http://{address}/p?secret")]);
        ["check-source".to_owned()].into_iter().chain(flags).collect::<Vec<_>>()
    };
    assert_eq!(ground.run(words(&[&good])).served(), [format!("http://{good}/p answered HTTP 204")]);
    let closed_refuses = format!("http://{closed}/p gave no answer (connect: connection refused)");
    for (addresses, wanted) in [
        (vec![&bad], format!("http://{bad}/p answered HTTP 503")),
        (vec![&redirect], format!("http://{redirect}/p answered HTTP 302")),
        (vec![&good, &closed, &bad], closed_refuses),
        (vec![&good, &bad, &closed], format!("http://{bad}/p answered HTTP 503")),
    ] {
        assert_eq!(ground.run(words(&addresses)).refusal(), wanted);
    }
}

#[test]
fn mistakes_of_the_caller() {
    let ground = Ground::new();
    for (words, wanted) in [
        ("check-source", "missing: --addr <ADDRESS>; see --help"),
        ("check-source --addr a:1", "missing: --token-file <FILE>; see --help"),
        (
            "check-source --addr https://a/",
            "--addr: a URL of another kind than http; expected HOST:PORT or http://HOST:PORT/PATH",
        ),
        ("await --addr a:1", "missing: --unit <UNIT>; see --help"),
        (
            "await --unit a --pid 1 --addr http://a/",
            "2 of --unit, --pid and --pid-file, but 1 of --addr: each unit gets one address, in the same order",
        ),
        ("await --pid 0 --addr http://a/", "no usable value for --pid <NUMBER>; see --help"),
        (
            "await --pid 1 --addr a:1 --token-file t --token-file u --token-file v",
            "--token-file is given 3 times for 1 gateways; give it once for all, or once for each, in the order of their --addr",
        ),
        ("await --pid 1 --addr http://a/ --timeout canary", "no usable value for --timeout <TIME>; see --help"),
        ("await --pid 1 --addr http://a/ --manager canary", "no usable value for --manager <MANAGER>; see --help"),
        ("await --canary", "unknown argument --canary; see --help"),
        ("waits canary", "unknown argument; see --help"),
    ] {
        let ended = ground.run(words.split(' '));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{words}: {ended:?}");
        assert_eq!(ended.stderr, format!("credgate-probe: usage: {wanted}\n"), "{words}");
    }
    assert_eq!(ground.records(), Vec::<String>::new());
}

#[test]
fn help_teaches() {
    let ground = Ground::new();
    for (words, parts) in [
        ("check-source --help", &["check-source [OPTIONS] --addr <ADDRESS>"][..]),
        (
            "await --help",
            &["credgate-probe await [OPTIONS]", "elsewhere", "--claim", "FILE.lock", "130", "docs/replace.md"],
        ),
        ("waits --help", &["credgate-probe waits [OPTIONS]"]),
        ("readiness --help", &["credgate-probe await "]),
    ] {
        let ended = ground.run(words.split(' '));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        for part in parts {
            assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
        }
    }
}
