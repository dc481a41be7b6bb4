//! Health checking and the descriptor set, read by Google's own Python packages.

use std::fs;

use credgate_support::{deployment::Deployment, process::Process};

use crate::{
    python::{Client, PATIENCE, client, proto, script, success},
    refusal::BOUND,
};

#[test]
fn health_is_checked_and_watched_until_the_gateway_goes() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let python = Client::new();
    let mut command = python.script(&script("health.py"));
    command.arg(python.file("client.json", &client(&deployment, gateway.control, &deployment.probe)));
    let watching = Process::start(command);
    watching.stdout.wait_for(|line| line.text == "watch SERVING", PATIENCE);
    gateway.terminate();
    assert_eq!(watching.wait(PATIENCE).code, Some(0), "{}", watching.log.text());
    let wanted = "check  SERVING\ncheck startup SERVING\ncheck liveness SERVING\ncheck readiness SERVING\n\
        check credgate.v1.CredentialService SERVING\ncheck nobody NOT_FOUND\n\
        watch SERVING\nwatch NOT_SERVING\nwatch ended\n";
    assert_eq!(watching.stdout.whole(BOUND), wanted);
    assert_eq!(gateway.wait(BOUND).code, Some(0));
}

#[test]
fn the_descriptor_set_is_whole() {
    let python = Client::new();
    let file = python.folder.path().join("credgate.binpb");
    fs::write(&file, proto(&["--descriptor-set"])).unwrap();
    let mut command = python.script(&script("descriptors.py"));
    command.arg(file);
    let methods = success(command);
    for (method, message) in [
        ("credgate.v1.CredentialService.LookupCredential", "credgate.v1.LookupCredential"),
        ("grpc.health.v1.Health.Check", "grpc.health.v1.HealthCheck"),
        ("grpc.health.v1.Health.Watch", "grpc.health.v1.HealthCheck"),
    ] {
        let wanted = format!("{method} {message}Request {message}Response");
        assert!(methods.lines().any(|method| method == wanted), "{wanted}: {methods}");
    }
}
