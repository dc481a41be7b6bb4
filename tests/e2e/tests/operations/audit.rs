//! Audit lines: one for each credential that was handed out, with its node and never with its value; off by default.

use std::{net::TcpListener, time::Duration};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Line},
};

use crate::ground::{BOUND, registrar, said};

const DELIVERED: &str = "credential delivered";

async fn ask(deployment: &Deployment, gateway: &Gateway) {
    let client = registrar(deployment, gateway).await;
    client.lookup("2000").await.unwrap();
    client.lookup("4711").await.unwrap_err();
    client.lookup("x").await.unwrap_err();
    client.lookup("2001").await.unwrap();
}

async fn stopped(gateway: &Gateway) -> String {
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    gateway.log.whole(BOUND)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_delivery_has_one_line() {
    let deployment = Deployment::mtls().set("log.audit", true);
    let gateway = deployment.start();
    ask(&deployment, &gateway).await;
    let text = stopped(&gateway).await;
    judge(&deployment, &said(&gateway, DELIVERED), &text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_written_also_when_only_errors_are_logged() {
    // At that level no line says where it listens.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let deployment =
        Deployment::mtls().set("log.audit", true).set("log.level", "error").set("lookup.listen", address.to_string());
    let process = deployment.spawn();
    let client = loop {
        match Client::dial(&deployment, address, &deployment.registrar, Duration::from_secs(1)).await {
            Ok(client) => break client,
            Err(_) => assert!(process.is_running(), "{}", process.log.tail()),
        }
    };
    client.lookup("2000").await.unwrap();
    client.lookup("2001").await.unwrap();
    process.terminate();
    assert_eq!(process.ended(BOUND).await.code, Some(0));
    let text = process.log.whole(BOUND);
    judge(&deployment, &process.log.lines(), &text);
}

fn judge(deployment: &Deployment, lines: &[Line], text: &str) {
    let told: Vec<_> = lines.iter().map(|line| (line.field("registrar"), line.field("node"))).collect();
    assert_eq!(told, [(Some("registrar-east"), Some("2000")), (Some("registrar-east"), Some("2001"))], "{text}");
    for line in lines {
        assert_eq!((line.field("target"), line.field("message")), (Some("credgate::audit"), Some(DELIVERED)));
        assert!(line.field("timestamp").is_some_and(|time| time.ends_with('Z')), "{}", line.text);
    }
    for secret in deployment.secrets() {
        assert!(!text.contains(&secret));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_default_there_is_none_and_no_node_is_named() {
    let deployment = Deployment::mtls().set("log.level", "trace");
    let gateway = deployment.start();
    ask(&deployment, &gateway).await;
    let text = stopped(&gateway).await;
    assert!(!text.contains(DELIVERED) && !text.contains("\"2001\"") && !text.contains("4711"), "{text}");
}
