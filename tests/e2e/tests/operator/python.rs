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
};
use serde_json::{Value, json};

use crate::refusal::BOUND;

/// Python starts slowly on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A Python with the packages that the example names, and the stubs it asks for in a folder of their own.
pub struct Client {
    python: Python,
    pub folder: tempfile::TempDir,
}

impl Client {
    /// Does what the example's own first lines say.
    pub fn new() -> Self {
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
    pub fn script(&self, script: &Path) -> Command {
        let paths = [self.folder.path().to_owned(), example().with_file_name("")];
        let mut command = self.python.command();
        command.env("PYTHONPATH", std::env::join_paths(paths).unwrap()).env("PYTHONDONTWRITEBYTECODE", "1").arg(script);
        command
    }

    /// A JSON file for a script.
    pub fn file(&self, name: &str, content: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content.to_string()).unwrap();
        path
    }
}

/// Arguments of the example's `Gateway`.
pub fn client(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Value {
    let files = identity.files.as_ref().unwrap();
    json!({
        "addr": address.to_string(), "ca": deployment.path("ca.pem"), "token_file": identity.token_file,
        "cert": files.cert, "key": files.key,
    })
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

/// What `credgate proto` prints, byte for byte.
pub fn proto(args: &[&str]) -> Vec<u8> {
    let output = executable("credgate").arg("proto").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Its standard output; anything but success fails the test.
pub fn success(command: Command) -> String {
    let ended = Process::run(command, PATIENCE);
    assert_eq!(ended.exit.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operator/python").join(name)
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python/lookup.py")
}
