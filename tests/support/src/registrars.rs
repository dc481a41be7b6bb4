//! The registrars of `examples/`, started as their README says, and the nodes that try them.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    deployment::{Deployment, Identity, SERVER_NAME},
    process::Process,
    python::Python,
};

/// A registrar of `examples/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Example {
    /// `http-registrar`.
    Http,
    /// `iax-registrar`.
    Iax,
}

/// A running one.
#[derive(Debug)]
pub struct Running {
    /// Its process; it says on stdout what became of each registration.
    pub process: Process,
    /// Where nodes come.
    pub address: SocketAddr,
    example: Example,
}

impl Example {
    /// Starts it before these gateways, with an identity's files and further arguments.
    pub async fn start(
        self,
        deployment: &Deployment,
        identity: &Identity,
        gateways: &[SocketAddr],
        more: &[&str],
    ) -> Running {
        let mut command = python().command();
        command.env("PYTHONPATH", repository().join("clients/python/src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(self.folder().join("registrar.py")).args(["--listen", "127.0.0.1:0"]).args(more);
        command.args(["--server-name", SERVER_NAME]);
        for (index, gateway) in gateways.iter().enumerate() {
            match index {
                0 => command.args(deployment.client_arguments(*gateway, identity)),
                _ => command.args(["--addr", &gateway.to_string()]),
            };
        }
        let process = Process::start(command);
        let line = process.stdout.seen(0, |line| line.text.starts_with("listening "), START).await;
        let address = line.text.trim_start_matches("listening ").parse().unwrap();
        Running { process, address, example: self }
    }

    fn folder(self) -> PathBuf {
        repository().join(match self {
            Self::Http => "examples/http-registrar",
            Self::Iax => "examples/iax-registrar",
        })
    }
}

impl Running {
    /// Nodes that register here: `passwords` is what each of them believes its own to be.
    pub fn nodes<'a>(
        &self,
        deployment: &Deployment,
        passwords: impl IntoIterator<Item = (&'a str, &'a str)>,
        more: &[&str],
    ) -> Process {
        let passwords: serde_json::Map<_, _> =
            passwords.into_iter().map(|(node, password)| (node.to_owned(), password.into())).collect();
        let file = deployment.path("nodes.json");
        fs::write(&file, serde_json::to_string(&passwords).unwrap()).unwrap();
        let mut command = python().command();
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(self.example.folder().join("node.py"));
        command.arg(self.address.to_string()).arg(file).args(more);
        Process::start(command)
    }
}

fn python() -> Python {
    Python::with(&["grpcio"])
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Python starts slowly on a loaded machine.
const START: Duration = Duration::from_secs(60);
