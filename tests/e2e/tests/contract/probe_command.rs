//! `credgate-probe` against the real gateway: each mode in each state, and one line when the answer is no.

use std::net::SocketAddr;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::{Deployment, Identity, Security},
    grpc::Client,
    pki::{Ca, Token},
    process::{Finished, Process, address},
    scripted::CheckBehaviour,
};

use crate::ground::{BOUND, phase};

async fn run(deployment: &Deployment, mode: &str, address: SocketAddr, identity: &Identity) -> Finished {
    let mut command = deployment.probe_command(mode, address, identity);
    command.args(["--timeout", "20s"]);
    tokio::task::spawn_blocking(move || Process::run(command, BOUND)).await.unwrap()
}

/// Exit codes of startup, liveness and readiness; what is not SERVING says so in one line.
async fn modes(deployment: &Deployment, address: SocketAddr) -> [i32; 3] {
    let mut codes = [0; 3];
    for (code, mode) in codes.iter_mut().zip(["startup", "liveness", "readiness"]) {
        let ended = run(deployment, mode, address, &deployment.probe).await;
        *code = ended.exit.code.unwrap();
        let silence = format!("{mode} of {address}: status: NOT_SERVING\n");
        let wanted = if *code == 0 { ("SERVING\n", "") } else { ("", silence.as_str()) };
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), wanted, "{mode}");
    }
    codes
}

async fn failure(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> String {
    let ended = run(deployment, "readiness", address, identity).await;
    assert_eq!((ended.exit.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    let line = ended.stderr.strip_prefix(&format!("readiness of {address}: ")).map(str::to_owned);
    let line = line.unwrap_or_else(|| panic!("{}", ended.stderr));
    assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    assert!(!line.contains(identity.token.expose()));
    line.trim_end().to_owned()
}

#[tokio::test]
async fn each_mode_in_each_state_of_the_gateway() {
    let deployment = Deployment::mtls()
        .with_scripted(4)
        .merge("[health]\ninterval = \"100ms\"\ntimeout = \"2s\"\nmax_age = \"5s\"")
        .set("shutdown.lame_duck", "50s");
    let (gateway, script) = deployment.start_scripted().await;
    for address in [gateway.lookup, gateway.control] {
        assert_eq!(modes(&deployment, address).await, [0, 0, 0], "serving");
    }
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut watch = probe.watch("readiness").await.unwrap();
    script.check(CheckBehaviour::Fail).await;
    watch.until(ServingStatus::NotServing, BOUND).await;
    for address in [gateway.lookup, gateway.control] {
        assert_eq!(modes(&deployment, address).await, [0, 0, 1], "the backend fails");
    }
    script.check(CheckBehaviour::Ok).await;
    watch.until(ServingStatus::Serving, BOUND).await;
    assert_eq!(modes(&deployment, gateway.control).await, [0, 0, 0], "it has recovered");
    gateway.terminate();
    phase(&gateway, "lame_duck").await;
    assert_eq!(modes(&deployment, gateway.control).await, [0, 0, 1], "stopping");
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let line = failure(&deployment, gateway.control, &deployment.probe).await;
    assert_eq!(line, "connect: connection refused", "gone");
}

#[tokio::test]
async fn a_gateway_that_is_starting_is_alive_and_no_more() {
    let deployment = Deployment::mtls().with_scripted(4).set("provider.scripted.open", "hang");
    let process = deployment.spawn_scripted();
    let control = address(&process, "control");
    assert_eq!(modes(&deployment, control).await, [1, 0, 1]);
}

#[tokio::test]
async fn the_one_line_names_step_and_class() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let other_ca = Ca::new("another CA");
    let leaf = credgate_support::pki::Leaf::client().dns("probe.example.net");
    let refused = "auth: UNAUTHENTICATED (the gateway does not accept this token, or the certificate belongs to another identity)";
    for (identity, wanted) in [
        (deployment.probe.with_token(Token::random()), refused),
        (deployment.probe.with_certificate(deployment.registrar.certificate.clone()), refused),
        (deployment.probe.with_certificate(None), "tls: the server requires a client certificate"),
        (
            deployment.probe.with_certificate(Some(other_ca.issue(&leaf))),
            "tls: the server does not know the CA of our client certificate",
        ),
    ] {
        for address in [gateway.lookup, gateway.control] {
            assert_eq!(failure(&deployment, address, &identity).await, wanted);
        }
    }
    other_ca.write(deployment.dir(), "ca");
    let line = failure(&deployment, gateway.control, &deployment.probe).await;
    assert_eq!(line, "tls: the server's certificate is not signed by the given CA");
}

#[tokio::test]
async fn every_security_can_be_probed() {
    for security in [Security::Token, Security::Plaintext] {
        let deployment = Deployment::new(security);
        let gateway = deployment.start();
        assert_eq!(modes(&deployment, gateway.control).await, [0, 0, 0], "{security:?}");
    }
}
