//! How calls of the Python example end: status code, reason, and the time to wait.

use credgate_support::{deployment::Deployment, pki::Token, scripted::Behaviour};
use serde_json::{Value, json};

use crate::python::{Client, client, script, success};

/// One entry of the list that `endings.py` takes.
fn call(client: &Value, node: &str) -> Value {
    json!({ "client": client, "node": node, "timeout": 30 })
}

/// How each call ends.
fn endings(python: &Client, calls: Vec<Value>) -> Vec<String> {
    let mut command = python.script(&script("endings.py"));
    command.arg(python.file("calls.json", &calls.into()));
    success(command).lines().map(str::to_owned).collect()
}

#[test]
fn refusals_have_their_codes_and_reasons() {
    let rows = "node_id,password,enabled\n2000,secret,yes\n2999,secret,no\n";
    let deployment = Deployment::mtls().with_file("nodes.csv", rows);
    let gateway = deployment.start();
    let registrar = client(&deployment, gateway.lookup, &deployment.registrar);
    let probe = client(&deployment, gateway.lookup, &deployment.probe);
    let stranger = deployment.registrar.with_token(Token::random());
    let stranger = client(&deployment, gateway.lookup, &stranger);
    let mut unknown = call(&registrar, "");
    unknown["method"] = "/credgate.v1.CredentialService/Nothing".into();
    let endings = endings(
        &Client::new(),
        vec![
            call(&registrar, "2000"),
            call(&registrar, "1"),
            call(&registrar, "2999"),
            call(&registrar, "20x0"),
            call(&stranger, "2000"),
            call(&probe, "2000"),
            unknown,
        ],
    );
    let wanted = [
        "OK",
        "NodeNotFound",
        "NodeNotFound",
        "INVALID_ARGUMENT INVALID_NODE_ID",
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
        "UNIMPLEMENTED",
    ];
    assert_eq!(endings, wanted);
}

#[test]
fn a_rate_limit_comes_with_the_time_to_wait() {
    let deployment = Deployment::mtls().merge("[rate]\nglobal = { per_second = 1, burst = 1 }");
    let gateway = deployment.start();
    let registrar = client(&deployment, gateway.lookup, &deployment.registrar);
    // More calls than can be let through while they are made, one a second.
    let endings = endings(&Client::new(), vec![call(&registrar, "2000"); 20]);
    assert_eq!(endings[0], "OK");
    assert!(endings.iter().any(|ending| ending == "RESOURCE_EXHAUSTED RATE_LIMITED with RetryInfo"), "{endings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn endings_of_a_store_have_their_codes_and_reasons() {
    let deployment = Deployment::mtls().set("lookup.queue", 0).with_scripted(1);
    let (gateway, script) = deployment.start_scripted().await;
    for (node, behaviour) in [
        ("1", Behaviour::Corrupt),
        ("2", Behaviour::Defect),
        ("3", Behaviour::Unavailable),
        ("4", Behaviour::password("late").delayed(60_000)),
        ("5", Behaviour::Hold),
    ] {
        script.node(node, behaviour).await;
    }
    let python = Client::new();
    let registrar = client(&deployment, gateway.lookup, &deployment.registrar);
    let mut deadline = call(&registrar, "4");
    deadline["timeout"] = 0.5.into();
    let calls = vec![
        call(&registrar, "1"),
        call(&registrar, "2"),
        call(&registrar, "3"),
        deadline,
        call(&registrar, "5"),
        call(&registrar, "2000"),
    ];
    let endings = tokio::task::spawn_blocking(move || endings(&python, calls)).await.unwrap();
    let wanted = [
        "INTERNAL CORRUPT_RECORD",
        "INTERNAL PROVIDER_DEFECT",
        "UNAVAILABLE BACKEND_UNAVAILABLE",
        "UNAVAILABLE BACKEND_TIMEOUT",
        "UNAVAILABLE BACKEND_TIMEOUT",
        "RESOURCE_EXHAUSTED AT_CAPACITY with RetryInfo",
    ];
    assert_eq!(endings, wanted);
}
