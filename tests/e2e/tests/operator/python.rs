//! A client in another language: `examples/python/lookup.py`, with stubs made from what `credgate proto` prints.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use credgate_support::{
    deployment::{Deployment, Identity},
    process::{Process, executable},
    python::Python,
    scripted::Behaviour,
};
use serde_json::{Value, json};

use crate::refusal::BOUND;

/// Python starts slowly on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A Python with the packages that the example names, and the stubs it asks for in a folder of their own.
struct Client {
    python: Python,
    folder: tempfile::TempDir,
}

impl Client {
    /// Does what the example's own first lines say.
    fn new() -> Self {
        let (python, folder) = (Python::with(&Python::GRPC), tempfile::tempdir().unwrap());
        let source = folder.path().join("proto/credgate/v1");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("credential.proto"), proto(&[])).unwrap();
        let client = Self { python, folder };
        let mut protoc = client.python.command();
        protoc.current_dir(client.folder.path()).args(["-m", "grpc_tools.protoc", "-Iproto", "--python_out=."]);
        protoc.args(["--grpc_python_out=.", "credgate/v1/credential.proto"]);
        success(protoc);
        client
    }

    /// A script that can import the example and the stubs.
    fn script(&self, script: &Path) -> Command {
        let paths = [self.folder.path().to_owned(), example().with_file_name("")];
        let mut command = self.python.command();
        command.env("PYTHONPATH", std::env::join_paths(paths).unwrap()).env("PYTHONDONTWRITEBYTECODE", "1").arg(script);
        command
    }

    /// A JSON file for a script.
    fn file(&self, name: &str, content: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content.to_string()).unwrap();
        path
    }

    /// How each call ends.
    fn endings(&self, calls: Vec<Value>) -> Vec<String> {
        let mut command = self.script(&script("endings.py"));
        command.arg(self.file("calls.json", &calls.into()));
        success(command).lines().map(str::to_owned).collect()
    }
}

/// Arguments of the example's `Gateway`.
fn client(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Value {
    let files = identity.files.as_ref().unwrap();
    json!({
        "addr": address.to_string(), "ca": deployment.path("ca.pem"), "token_file": identity.token_file,
        "cert": files.cert, "key": files.key,
    })
}

fn call(client: &Value, node: &str) -> Value {
    json!({ "client": client, "node": node, "timeout": 30 })
}

#[test]
fn a_thousand_nodes_are_looked_up_right() {
    let deployment = Deployment::mtls().with_nodes(1000);
    let gateway = deployment.start();
    let python = Client::new();
    let nodes: serde_json::Map<String, Value> =
        deployment.nodes.iter().map(|(node, password)| (node.to_owned(), password.into())).collect();
    let mut command = python.script(&script("many.py"));
    let registrar = client(&deployment, gateway.lookup, &deployment.registrar);
    command.args([python.file("client.json", &registrar), python.file("nodes.json", &nodes.into())]);
    assert_eq!(success(command), "1000 nodes, 0 wrong\n");
}

#[test]
fn refusals_have_their_codes_and_reasons() {
    let rows = "node_id,password,enabled\n2000,secret,yes\n2999,secret,no\n";
    let deployment = Deployment::mtls().with_file("nodes.csv", rows);
    let gateway = deployment.start();
    let registrar = client(&deployment, gateway.lookup, &deployment.registrar);
    let probe = client(&deployment, gateway.lookup, &deployment.probe);
    let stranger = deployment.registrar.with_token(credgate_support::pki::Token::random());
    let stranger = client(&deployment, gateway.lookup, &stranger);
    let mut unknown = call(&registrar, "");
    unknown["method"] = "/credgate.v1.CredentialService/Nothing".into();
    let endings = Client::new().endings(vec![
        call(&registrar, "2000"),
        call(&registrar, "1"),
        call(&registrar, "2999"),
        call(&registrar, "20x0"),
        call(&stranger, "2000"),
        call(&probe, "2000"),
        unknown,
    ]);
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
    let endings = Client::new().endings(vec![call(&registrar, "2000"); 20]);
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
    let endings = tokio::task::spawn_blocking(move || python.endings(calls)).await.unwrap();
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

#[test]
fn the_example_is_run_as_it_says() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let python = Client::new();
    for (node, identity, code, words) in [
        ("2000", &deployment.registrar, 0, "found: a password of"),
        ("1", &deployment.registrar, 2, "not found: refuse the registration"),
        ("x", &deployment.registrar, 1, "INVALID_ARGUMENT INVALID_NODE_ID: check the node ID"),
        ("2000", &deployment.probe, 4, "PERMISSION_DENIED: our own token"),
    ] {
        let mut command = python.script(&example());
        command.arg(node).args(deployment.client_arguments(gateway.lookup, identity));
        let ended = Process::run(command, PATIENCE);
        assert_eq!(ended.exit.code, Some(code), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.starts_with(words) && ended.stdout.lines().count() == 1, "{}", ended.stdout);
        credgate_support::canary::Canary::new(deployment.secrets()).absent_from("the example", &ended.stdout);
    }
    let mut command = python.script(&example());
    command.arg("2000").args(deployment.client_arguments(gateway.lookup, &deployment.registrar));
    gateway.terminate();
    assert_eq!(gateway.wait(BOUND).code, Some(0));
    let ended = Process::run(command, PATIENCE);
    assert_eq!(ended.exit.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.starts_with("UNAVAILABLE: not the node's fault"), "{}", ended.stdout);
}

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
        check credgate.v1.CredentialService SERVING\ncheck nobody NOT_FOUND\nwatch SERVING\nwatch NOT_SERVING\nwatch ended\n";
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
    let wanted = [
        "credgate.v1.CredentialService.LookupCredential credgate.v1.LookupCredentialRequest credgate.v1.LookupCredentialResponse",
        "grpc.health.v1.Health.Check grpc.health.v1.HealthCheckRequest grpc.health.v1.HealthCheckResponse",
        "grpc.health.v1.Health.Watch grpc.health.v1.HealthCheckRequest grpc.health.v1.HealthCheckResponse",
    ];
    let methods = success(command);
    for wanted in wanted {
        assert!(methods.lines().any(|method| method == wanted), "{wanted}: {methods}");
    }
}

/// What `credgate proto` prints, byte for byte.
fn proto(args: &[&str]) -> Vec<u8> {
    let output = executable("credgate").arg("proto").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Its standard output; anything but success fails the test.
fn success(command: Command) -> String {
    let ended = Process::run(command, PATIENCE);
    assert_eq!(ended.exit.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operator/python").join(name)
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python/lookup.py")
}
