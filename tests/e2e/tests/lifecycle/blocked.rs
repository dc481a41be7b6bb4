//! A provider that blocks the lookup runtime's threads: liveness and the watchdog notice, SIGTERM still ends the
//! gateway within its budget.

use std::time::Duration;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Process},
    scripted::{Behaviour, Script},
};

use crate::{
    ground::{BOUND, phase, probe, registrar, said},
    notify_socket::Supervisor,
};

/// One thread for lookups, so that one lookup can block them all.
async fn start(deployment: &Deployment, supervisor: Option<&Supervisor>) -> (Gateway, Script) {
    let mut command = deployment.command_of("credgate-scripted", ["serve"]);
    command.env("TOKIO_WORKER_THREADS", "1");
    if let Some(supervisor) = supervisor {
        supervisor.watch(&mut command, Duration::from_secs(2));
    }
    let process = Process::start(command);
    let script = Script::of(&process);
    (Gateway::ready(process), script)
}

/// Blocks the runtime with a lookup that nobody will see answered.
async fn block(client: &Client, script: &Script) {
    script.node("1999", Behaviour::Block).await;
    tokio::spawn({
        let client = client.clone();
        async move { client.lookup("1999").await }
    });
    script.wait_for(|counts| counts.held == 1, BOUND).await;
}

/// The one test that takes its literal time: 10 s without a heartbeat.
#[tokio::test]
async fn liveness_and_the_watchdog_end_with_the_heartbeat_and_return_with_it() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "50s");
    let supervisor = Supervisor::new(&deployment);
    let (gateway, script) = start(&deployment, Some(&supervisor)).await;
    let probe = probe(&deployment, &gateway).await;
    let mut liveness = probe.watch("liveness").await.unwrap();
    liveness.until(ServingStatus::Serving, BOUND).await;
    supervisor.until("WATCHDOG=1").await;
    block(&registrar(&deployment, &gateway).await, &script).await;
    // A supervisor reads all the time.
    tokio::select! {
        () = liveness.until(ServingStatus::NotServing, BOUND) => {}
        _ = supervisor.hears("nothing of the kind", BOUND * 2) => {}
    }
    assert_eq!(probe.check("liveness").await, Ok(ServingStatus::NotServing));
    assert_eq!(probe.check("startup").await, Ok(ServingStatus::Serving));
    supervisor.everything().await;
    supervisor.forget();
    assert!(!supervisor.hears("WATCHDOG=1", Duration::from_secs(2)).await, "fed by a gateway that does not turn");
    script.release(1).await;
    liveness.until(ServingStatus::Serving, BOUND).await;
    supervisor.until("WATCHDOG=1").await;
}

#[tokio::test]
async fn sigterm_ends_a_blocked_gateway_within_its_budget() {
    for signals in [1, 2] {
        let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "50s");
        let (drain, total) = if signals == 1 { ("500ms", 2) } else { ("50s", 52) };
        let deployment = deployment.set("shutdown.drain_timeout", drain).set("shutdown.close_timeout", "500ms");
        let (gateway, script) = start(&deployment, None).await;
        block(&registrar(&deployment, &gateway).await, &script).await;
        gateway.terminate();
        phase(&gateway, "lame_duck").await;
        if signals == 2 {
            gateway.terminate();
        }
        let exit = gateway.ended(BOUND).await;
        assert_eq!((exit.code, exit.signal), (Some(75), None), "{}", gateway.log.tail());
        let forced = usize::from(signals == 1);
        assert_eq!(
            said(&gateway, "still running after its whole budget: a provider blocks the lookup runtime"),
            forced
        );
        assert!(exit.after < Duration::from_secs(total) + BOUND / 2, "{exit:?}");
    }
}
