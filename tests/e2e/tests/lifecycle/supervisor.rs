//! systemd's notification protocol: what a supervisor is told, and when.

use std::{process::Command, time::Duration};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Process},
    scripted::{CheckBehaviour, Script},
};
use tokio::time::Instant;

use crate::{
    ground::{Asking, BOUND, phase},
    notify_socket::Supervisor,
    replicas::place,
};

fn command(deployment: &Deployment) -> Command {
    deployment.command_of("credgate-scripted", ["serve"])
}

#[tokio::test]
async fn ready_comes_after_validation_the_first_check_and_the_lookup_listener() {
    let place = place();
    let deployment = Deployment::mtls()
        .with_scripted(4)
        .set("lookup.listen", format!("{place}:7443"))
        .set("provider.scripted.open_delay", "300ms")
        .set("health.timeout", "20s")
        .set("health.max_age", "60s")
        .set("provider.scripted.script", vec![r#"{"op":"check","behaviour":{"do":"delay","ms":500}}"#]);
    let supervisor = Supervisor::new(&deployment);
    let mut command = command(&deployment);
    supervisor.notify(&mut command);
    let process = Process::start(command);
    Script::of(&process).wait_for(|counts| counts.checks == 1, BOUND).await;
    let before = supervisor.everything().await;
    assert!(!before.iter().any(|line| line == "READY=1"), "before the check has ended: {before:?}");
    supervisor.until("READY=1").await;
    let client = Client::open(&deployment, (place, 7443).into(), &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    process.terminate();
    assert_eq!(process.ended(BOUND).await.code, Some(0));
    let all = supervisor.everything().await;
    assert_eq!(all.iter().filter(|line| *line == "READY=1").count(), 1);
    assert!(!all.iter().any(|line| line.starts_with("WATCHDOG")), "nobody asked for it: {all:?}");
}

#[tokio::test]
async fn a_start_that_fails_is_never_ready() {
    let check = |what: &str| vec![format!(r#"{{"op":"check","behaviour":{{"do":"{what}"}}}}"#)];
    let deployment = || Deployment::mtls().with_scripted(4);
    for (name, deployment, code) in [
        ("a wrong configuration", deployment().set("lookup.nonsense", 1), 78),
        ("a provider that does not open", deployment().set("provider.scripted.open", "unavailable"), 69),
        ("a failed first check", deployment().set("provider.scripted.script", check("fail")), 69),
    ] {
        let supervisor = Supervisor::new(&deployment);
        let mut command = command(&deployment);
        supervisor.watch(&mut command, Duration::from_secs(1));
        let process = Process::start(command);
        assert_eq!(process.ended(BOUND).await.code, Some(code), "{name}: {}", process.log.tail());
        let told = supervisor.everything().await;
        assert!(!told.iter().any(|line| line == "READY=1"), "{name}: {told:?}");
    }
}

#[tokio::test]
async fn stopping_comes_with_the_first_signal_and_asks_for_the_budget() {
    let deployment = Deployment::mtls()
        .with_scripted(4)
        .merge("[shutdown]\nlame_duck = \"20s\"\ndrain_timeout = \"7s\"\nclose_timeout = \"3s\"");
    let supervisor = Supervisor::new(&deployment);
    let mut command = command(&deployment);
    supervisor.notify(&mut command);
    let gateway = Gateway::ready(Process::start(command));
    supervisor.until("READY=1").await;
    gateway.terminate();
    phase(&gateway, "lame_duck").await;
    for line in ["STOPPING=1", "STATUS=draining", "EXTEND_TIMEOUT_USEC=31000000"] {
        supervisor.until(line).await;
    }
    assert!(gateway.is_running());
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let told = supervisor.everything().await;
    assert_eq!(told.iter().filter(|line| *line == "STOPPING=1").count(), 1, "{told:?}");
    let after = told.iter().skip_while(|line| *line != "STOPPING=1");
    assert!(!after.into_iter().any(|line| line == "STATUS=serving"), "{told:?}");
}

/// Ten datagrams may wait in a socket; then a sender is blocked.
#[tokio::test]
async fn a_supervisor_that_does_not_read_holds_nothing_up() {
    let deployment = Deployment::mtls().with_scripted(4).merge("[health]\ninterval = \"100ms\"\nmax_age = \"5s\"");
    let supervisor = Supervisor::new(&deployment);
    let mut command = command(&deployment);
    supervisor.watch(&mut command, Duration::from_millis(40));
    let gateway = Gateway::ready(Process::start(command));
    let script = Script::of(&gateway);
    let liveness = Asking::begin(&deployment, &gateway, "liveness").await;
    // Two seconds: fed every 10 ms, it has long been more than ten.
    script.wait_for(|counts| counts.checks > 20, BOUND).await;
    liveness.end();
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}

#[tokio::test]
async fn the_status_follows_readiness() {
    let deployment = Deployment::mtls().with_scripted(4).merge("[health]\ninterval = \"100ms\"\nmax_age = \"5s\"");
    let supervisor = Supervisor::new(&deployment);
    let mut command = command(&deployment);
    supervisor.notify(&mut command);
    let gateway = Gateway::ready(Process::start(command));
    let script = Script::of(&gateway);
    supervisor.until("STATUS=serving").await;
    for _ in 0..2 {
        script.check(CheckBehaviour::Fail).await;
        supervisor.until("STATUS=not ready: see the log").await;
        supervisor.forget();
        script.check(CheckBehaviour::Ok).await;
        supervisor.until("STATUS=serving").await;
        supervisor.forget();
    }
}

#[tokio::test]
async fn the_watchdog_is_fed_at_least_twice_in_the_time_it_grants() {
    let granted = Duration::from_millis(800);
    let deployment = Deployment::mtls().with_scripted(4);
    let supervisor = Supervisor::new(&deployment);
    let mut command = command(&deployment);
    supervisor.watch(&mut command, granted);
    let gateway = Gateway::ready(Process::start(command));
    supervisor.until("WATCHDOG=1").await;
    supervisor.forget();
    let began = Instant::now();
    let fed = || supervisor.heard().iter().filter(|line| *line == "WATCHDOG=1").count();
    while fed() < 12 {
        assert!(supervisor.receive(BOUND).await.is_continue(), "{}", gateway.log.tail());
    }
    // On average, since a busy machine delays single ones.
    assert!(began.elapsed() < granted / 2 * 12, "{:?} for 12 meals", began.elapsed());
}
