//! The files a deployment writes.

use super::*;

fn parsed(deployment: &Deployment) -> toml::Table {
    fs::read_to_string(deployment.write()).unwrap().parse().unwrap()
}

#[test]
fn every_key_can_be_changed() {
    let deployment = Deployment::mtls()
        .set("lookup.timeout", "500ms")
        .set("identity.1.san", vec!["other.example.net"])
        .set("health.interval", "1s")
        .remove("metrics")
        .merge("[rate]\nglobal = { per_second = 5, burst = 5 }\n[lookup]\nqueue = 3");
    let table = parsed(&deployment);
    assert_eq!(table["lookup"]["timeout"].as_str(), Some("500ms"));
    assert_eq!(table["lookup"]["queue"].as_integer(), Some(3));
    assert_eq!(table["lookup"]["listen"].as_str(), Some("127.0.0.1:0"));
    assert_eq!(table["identity"][1]["san"][0].as_str(), Some("other.example.net"));
    assert_eq!(table["identity"][0]["san"][0].as_str(), Some("registrar-east.example.net"));
    assert_eq!(table["rate"]["global"]["burst"].as_integer(), Some(5));
    assert!(!table.contains_key("metrics"));
    assert!(fs::read_to_string(deployment.append("[[[").write()).unwrap().ends_with("[[["));
}

#[test]
fn the_three_kinds_of_security() {
    let mtls = Deployment::mtls();
    assert_eq!(parsed(&mtls)["tls"]["client_ca"].as_str(), Some("ca.pem"));
    assert!(mtls.registrar.files.is_some());
    let token = Deployment::token_only();
    assert!(parsed(&token)["tls"].get("client_ca").is_none() && token.probe.san.is_none());
    let plain = parsed(&Deployment::plaintext());
    assert_eq!(plain["tls"].as_table().unwrap().len(), 1);
    assert_eq!(plain["tls"]["insecure_plaintext"].as_bool(), Some(true));
}

#[test]
fn nodes_are_remembered() {
    let deployment = Deployment::mtls().with_nodes(30);
    let file = fs::read_to_string(deployment.path("nodes.csv")).unwrap();
    assert_eq!(file.lines().count(), 31);
    assert!(file.contains(&format!("2029,{}\n", deployment.nodes.password("2029"))));
    assert_eq!(deployment.secrets().len(), 32);
    assert!(deployment.nodes.passwords().all(|password| (16..=24).contains(&password.len())));
}

#[test]
fn a_further_identity_stands_in_the_file() {
    let mut deployment = Deployment::mtls();
    let west = deployment.add_identity("registrar-west", "registrar");
    let table = parsed(&deployment);
    assert_eq!(table["identity"][2]["token_sha256"][0].as_str(), Some(west.token.digest().as_str()));
    let arguments = deployment.client_arguments("127.0.0.1:1".parse().unwrap(), &west);
    assert!(arguments.contains(&"--cert".to_owned()), "{arguments:?}");
}
