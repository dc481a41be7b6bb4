//! The start: readiness last, and an exit code for each way it can fail.

use std::time::Duration;

use credgate_client::ServingStatus::{NotServing, Serving};
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Process, address},
    scripted::Script,
};
use tokio::time::{Instant, sleep};

use crate::ground::{BOUND, logged};

fn is_lookup_listening(process: &Process) -> bool {
    process.log.lines().iter().any(|line| line.says("listening") && line.field("listener") == Some("lookup"))
}

/// H6: asked from the first moment on.
#[tokio::test]
async fn readiness_serves_only_after_the_first_good_check() {
    let deployment = Deployment::mtls()
        .with_scripted(4)
        .set("provider.scripted.open_delay", "700ms")
        .set("provider.scripted.script", vec![r#"{"op":"check","behaviour":{"do":"delay","ms":700}}"#]);
    let process = deployment.spawn_scripted();
    let control = address(&process, "control");
    let client = Client::open(&deployment, control, &deployment.probe).await;
    let script = Script::of(&process);
    let mut watch = client.watch("readiness").await.unwrap();
    assert_eq!(watch.next(BOUND).await, Ok(Some(NotServing)));

    let (mut before_opening, mut before_checked) = (0, 0);
    let begin = Instant::now();
    loop {
        let listening = is_lookup_listening(&process);
        let status = client.check("readiness").await.unwrap();
        if status == Serving {
            break;
        }
        assert!(!listening || !process.log.lines().iter().any(|line| line.says("ready")), "ready and NOT_SERVING");
        match script.counts().await.checks {
            0 => before_opening += 1,
            _ => before_checked += 1,
        }
        if !listening {
            assert_eq!(client.check("liveness").await, Ok(Serving));
        }
        assert!(begin.elapsed() < BOUND);
        sleep(Duration::from_millis(5)).await;
    }
    assert!(before_opening > 0 && before_checked > 0, "{before_opening}, {before_checked}");
    assert_eq!(client.check("startup").await, Ok(Serving));
    watch.until(Serving, BOUND).await;
    let lookups = Client::open(&deployment, address(&process, "lookup"), &deployment.registrar).await;
    assert_eq!(lookups.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn while_starting_only_liveness_serves_and_only_on_the_control_listener() {
    let deployment = Deployment::mtls().with_scripted(4).set("provider.scripted.open", "hang");
    let process = deployment.spawn_scripted();
    let control = address(&process, "control");
    let client = Client::open(&deployment, control, &deployment.probe).await;
    for (name, status) in [("liveness", Serving), ("startup", NotServing), ("readiness", NotServing), ("", NotServing)]
    {
        assert_eq!(client.check(name).await, Ok(status), "{name}");
        assert_eq!(client.watch(name).await.unwrap().next(BOUND).await, Ok(Some(status)), "{name}");
    }
    let stranger = deployment.probe.with_token(credgate_support::pki::Token::random());
    let stranger = Client::open(&deployment, control, &stranger).await;
    assert_eq!(stranger.check("liveness").await.unwrap_err(), "UNAUTHENTICATED");
    assert!(!is_lookup_listening(&process));
    process.terminate();
    assert_eq!(process.ended(BOUND).await.code, Some(0), "SIGTERM during the start is no failure");
    assert!(!is_lookup_listening(&process));
}

#[tokio::test]
async fn sigterm_during_the_first_check_is_no_failure() {
    let deployment = Deployment::mtls()
        .with_scripted(4)
        .merge("[health]\ntimeout = \"10m\"\nmax_age = \"20m\"")
        .set("provider.scripted.script", vec![r#"{"op":"check","behaviour":{"do":"hang"}}"#]);
    let process = deployment.spawn_scripted();
    Script::of(&process).wait_for(|counts| counts.checks == 1, BOUND).await;
    process.terminate();
    assert_eq!(process.ended(BOUND).await.code, Some(0));
    assert!(!is_lookup_listening(&process));
}

#[tokio::test]
async fn each_way_the_store_can_fail_has_its_exit_code() {
    let check = |what: &str| format!(r#"{{"op":"check","behaviour":{{"do":"{what}"}}}}"#);
    for (open, first_check, code) in [
        ("unavailable", "ok", 69),
        ("configuration", "ok", 78),
        ("hang", "ok", 69),
        ("panic", "ok", 1),
        ("ok", "fail", 69),
        ("ok", "hang", 69),
        ("ok", "defect", 1),
        ("ok", "panic", 1),
    ] {
        let deployment = Deployment::mtls()
            .with_scripted(4)
            .set("provider.scripted.open", open)
            .set("provider.scripted.script", vec![check(first_check)])
            .set("provider.open_timeout", "1s")
            .set("health.timeout", "500ms");
        let process = deployment.spawn_scripted();
        let exit = process.ended(BOUND).await;
        assert_eq!((exit.code, exit.signal), (Some(code), None), "{open}, {first_check}: {}", process.log.tail());
        logged(&process, "cannot start").await;
        assert!(!is_lookup_listening(&process), "{open}, {first_check}");
    }
}

#[tokio::test]
async fn a_used_port_is_named_with_its_listener() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for (listener, key, taken) in [
        ("lookup", "lookup.listen", gateway.lookup),
        ("control", "control.listen", gateway.control),
        ("metrics", "metrics.listen", gateway.metrics.unwrap()),
    ] {
        let second = Deployment::mtls().set(key, taken.to_string());
        let process = second.spawn();
        let exit = process.ended(BOUND).await;
        assert_eq!(exit.code, Some(1), "{}", process.log.tail());
        let line = process.log.seen(0, |line| line.says("cannot start"), BOUND).await;
        let wanted = format!("{listener} listener: cannot listen on {taken}");
        assert!(line.field("error").is_some_and(|error| error.starts_with(&wanted)), "{}", line.text);
    }
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"), "the first one is unharmed");
}

#[tokio::test]
async fn a_port_is_free_again_as_soon_as_the_gateway_has_ended() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let (lookup, control) = (gateway.lookup, gateway.control);
    let client = Client::open(&deployment, lookup, &deployment.registrar).await;
    client.lookup("2000").await.unwrap();
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let again = deployment.set("lookup.listen", lookup.to_string()).set("control.listen", control.to_string());
    let gateway = again.start();
    let client = Client::open(&again, gateway.lookup, &again.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), again.nodes.password("2000"));
}
