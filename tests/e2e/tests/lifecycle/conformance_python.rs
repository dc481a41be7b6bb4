//! The health table once more, as Google's own Python package reads it.

use std::{net::SocketAddr, path::Path, time::Duration};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    process::{Process, address},
    python::Python,
    scripted::CheckBehaviour,
};

use crate::ground::{BOUND, phase, probe};

/// Python starts slowly on a loaded machine, and its packages may have to be fetched first.
const PATIENCE: Duration = Duration::from_secs(180);

/// Name, Check, Watch, with what readiness and startup say.
fn table(readiness: &str, startup: &str) -> String {
    let rows = [
        ("", readiness),
        ("readiness", readiness),
        ("credgate.v1.CredentialService", readiness),
        ("startup", startup),
        ("liveness", "SERVING"),
    ];
    let rows = rows.map(|(name, status)| format!("'{name}' {status} {status}\n")).concat();
    rows + "'nobody' NOT_FOUND SERVICE_UNKNOWN\n"
}

async fn fits(deployment: &Deployment, address: SocketAddr, wanted: [&str; 2], state: &str) {
    let files = deployment.probe.files.clone().unwrap();
    let arguments = [address.to_string().into(), deployment.path("ca.pem"), files.cert, files.key];
    let token = deployment.probe.token_file.clone();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lifecycle/python/health_table.py");
    let run = move || Python::grpc().run(&script, arguments.into_iter().chain([token]), PATIENCE);
    let ended = tokio::task::spawn_blocking(run).await.unwrap();
    let wanted = table(wanted[0], wanted[1]);
    assert_eq!((ended.exit.code, ended.stdout.as_str()), (Some(0), wanted.as_str()), "{state}: {}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_sees_the_same_table() {
    let deployment = Deployment::mtls().with_scripted(4).set("provider.scripted.open", "hang");
    let process: Process = deployment.spawn_scripted();
    fits(&deployment, address(&process, "control"), ["NOT_SERVING", "NOT_SERVING"], "starting").await;
    drop(process);

    let deployment = Deployment::mtls()
        .with_scripted(4)
        .merge("[health]\ninterval = \"100ms\"\nmax_age = \"5s\"\n[shutdown]\nlame_duck = \"10m\"");
    let (gateway, script) = deployment.start_scripted().await;
    let mut readiness = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    readiness.until(ServingStatus::Serving, BOUND).await;
    fits(&deployment, gateway.lookup, ["SERVING", "SERVING"], "serving, on the lookup listener").await;
    script.check(CheckBehaviour::Fail).await;
    readiness.until(ServingStatus::NotServing, BOUND).await;
    fits(&deployment, gateway.control, ["NOT_SERVING", "SERVING"], "without its store").await;
    script.check(CheckBehaviour::Ok).await;
    readiness.until(ServingStatus::Serving, BOUND).await;
    gateway.terminate();
    phase(&gateway, "lame_duck").await;
    fits(&deployment, gateway.control, ["NOT_SERVING", "SERVING"], "on its way out").await;
}
