//! A loaded file that changes on disk: what is loaded goes on, and the difference is told (C11).

use std::fs;

use credgate_support::{deployment::Deployment, grpc::Client, process::Gateway};

use crate::ground::{BOUND, becomes};

async fn told(gateway: &Gateway, mark: usize, message: &str, file: &str) {
    let fits = |line: &credgate_support::process::Line| {
        line.field("message").is_some_and(|text| text.starts_with(message))
            && line.field("path").is_some_and(|path| path.ends_with(file))
    };
    gateway.log.seen(mark, fits, BOUND).await;
}

#[tokio::test]
async fn a_changed_or_deleted_csv_file_is_told_and_the_loaded_one_serves() {
    let deployment = Deployment::mtls().set("health.file_interval", "50ms");
    let gateway = deployment.start();
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let serves = async || assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    becomes(&gateway, "credgate_files_differ", &[], 0.0).await;
    let (path, original) = (deployment.path("nodes.csv"), deployment.nodes.csv());

    let mark = gateway.log.mark();
    fs::write(&path, original.replace(deployment.nodes.password("2000"), "another password")).unwrap();
    told(&gateway, mark, "file differs from what is loaded", "nodes.csv").await;
    becomes(&gateway, "credgate_files_differ", &[], 1.0).await;
    serves().await;

    let mark = gateway.log.mark();
    fs::write(&path, &original).unwrap();
    told(&gateway, mark, "file is again what is loaded", "nodes.csv").await;
    becomes(&gateway, "credgate_files_differ", &[], 0.0).await;

    let mark = gateway.log.mark();
    fs::remove_file(&path).unwrap();
    told(&gateway, mark, "file is gone or unreadable", "nodes.csv").await;
    becomes(&gateway, "credgate_files_differ", &[], 1.0).await;
    serves().await;
    assert_eq!(client.check("readiness").await, Ok(credgate_client::ServingStatus::Serving));

    // Told once, not at every comparison.
    let count = |text: &str| gateway.log.lines().iter().filter(|line| line.text.contains(text)).count();
    assert_eq!((count("file is gone"), count("file differs from")), (1, 1));
    assert!(!gateway.log.text().contains("another password"));
}

#[tokio::test]
async fn a_restart_takes_the_change() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    fs::write(deployment.path("nodes.csv"), "node_id,password\n2000,another password\n").unwrap();
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let gateway = deployment.start();
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), "another password");
    assert_eq!(client.lookup("2001").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
}
