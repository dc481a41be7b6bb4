//! A gateway deployment in a temporary folder: authority, certificates, tokens, nodes, `credgate.toml`.
//!
//! Every listener has port 0, the log is JSON, metrics are on. A test changes what it is about and starts it:
//!
//! ```no_run
//! use credgate_support::deployment::Deployment;
//! let deployment = Deployment::mtls()
//!     .with_nodes(3)
//!     .set("lookup.timeout", "500ms")
//!     .merge("[rate]\nglobal = { per_second = 5, burst = 5 }");
//! let gateway = deployment.start();
//! println!("lookups go to {}, node 2000 has {}", gateway.lookup, deployment.nodes.password("2000"));
//! ```

mod config;
mod identity;
mod nodes;

use std::{
    ffi::OsStr,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use credgate_client::{Endpoint, Settings};
use tempfile::TempDir;
use toml::Value;

pub use config::Config;
pub use identity::Identity;
pub use nodes::Nodes;

use crate::{
    pki::{Ca, Issued, Leaf, write_private},
    process::{Gateway, Process, executable},
};

/// The name in the gateway's certificate.
pub const SERVER_NAME: &str = "localhost";

/// How the two listeners are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS, token, and a client certificate whose SAN belongs to the token's identity.
    Mtls,
    /// TLS and token.
    Token,
    /// Token alone, on loopback.
    Plaintext,
}

/// A gateway's files. They live as long as this value.
#[derive(Debug)]
pub struct Deployment {
    dir: TempDir,
    /// How the listeners are protected.
    pub security: Security,
    /// The authority of both sides.
    pub ca: Ca,
    /// The gateway's certificate: `localhost`, 127.0.0.1 and ::1.
    pub server: Issued,
    /// May look nodes up.
    pub registrar: Identity,
    /// May ask for health only.
    pub probe: Identity,
    /// What stands in `nodes.csv`.
    pub nodes: Nodes,
    /// What will stand in `credgate.toml`.
    pub config: Config,
}

impl Deployment {
    /// Mutual TLS.
    pub fn mtls() -> Self {
        Self::new(Security::Mtls)
    }

    /// TLS without client certificates.
    pub fn token_only() -> Self {
        Self::new(Security::Token)
    }

    /// No TLS, on loopback.
    pub fn plaintext() -> Self {
        Self::new(Security::Plaintext)
    }

    /// Ten nodes from 2000 upwards in a CSV file, one registrar, one probe.
    pub fn new(security: Security) -> Self {
        let dir = tempfile::Builder::new().prefix("credgate-test-").tempdir().unwrap();
        let ca = Ca::new("credgate test CA");
        let server = ca.issue(&Leaf::server().dns(SERVER_NAME).ip([127, 0, 0, 1]).ip([0, 0, 0, 0, 0, 0, 0, 1]));
        ca.write(dir.path(), "ca");
        server.write(dir.path(), "server");
        let identity = |name, role| Identity::new(name, role, security, &ca, dir.path());
        let (registrar, probe) = (identity("registrar-east", "registrar"), identity("probe", "probe"));
        let mut config = Config::sample(security);
        for identity in [&registrar, &probe] {
            config.push("identity", identity.table());
        }
        let nodes = Nodes::seeded(Nodes::SEED, 10);
        let deployment = Self { dir, security, ca, server, registrar, probe, nodes, config };
        let csv = deployment.nodes.csv();
        deployment.with_file("nodes.csv", csv)
    }

    /// Replaces the nodes by `count` others.
    pub fn with_nodes(mut self, count: usize) -> Self {
        self.nodes = Nodes::seeded(Nodes::SEED, count);
        let csv = self.nodes.csv();
        self.with_file("nodes.csv", csv)
    }

    /// Writes any file of the deployment's folder, a new one with mode 0600.
    pub fn with_file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        write_private(&self.path(name), content.as_ref());
        self
    }

    /// Replaces the gateway's certificate and key files.
    pub fn with_server(mut self, server: Issued) -> Self {
        server.write(self.dir(), "server");
        self.server = server;
        self
    }

    /// Makes one more identity and adds it to the configuration.
    pub fn add_identity(&mut self, name: &str, role: &str) -> Identity {
        let identity = Identity::new(name, role, self.security, &self.ca, self.dir());
        self.config.push("identity", identity.table());
        identity
    }

    /// Sets one key: `"lookup.timeout"`, `"identity.0.san"`. See [`Config::set`].
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config.set(key, value);
        self
    }

    /// Removes one key or table.
    pub fn remove(mut self, key: &str) -> Self {
        self.config.remove(key);
        self
    }

    /// Merges TOML text into what stands there, table by table; other values are replaced.
    pub fn merge(mut self, text: &str) -> Self {
        self.config.merge(text);
        self
    }

    /// Appends text that need not be TOML.
    pub fn append(mut self, text: &str) -> Self {
        self.config.append(text);
        self
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes `credgate.toml` as it is configured now.
    pub fn write(&self) -> PathBuf {
        let path = self.path("credgate.toml");
        fs::write(&path, self.config.text()).unwrap();
        path
    }

    /// `credgate ARGS… --config FILE`, the file freshly written.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        self.command_of("credgate", args)
    }

    /// The same for another executable that is a gateway.
    pub fn command_of<S: AsRef<OsStr>>(&self, name: &str, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = executable(name);
        command.args(args).arg("--config").arg(self.write());
        command
    }

    /// `credgate-probe WHAT` against a listener, with an identity's files.
    pub fn probe_command(&self, what: &str, address: SocketAddr, identity: &Identity) -> Command {
        let mut command = executable("credgate-probe");
        command.arg(what).args(self.client_arguments(address, identity));
        command
    }

    /// `credgate lookup NODE` against a listener, with an identity's files.
    pub fn lookup_command(&self, node: &str, address: SocketAddr, identity: &Identity) -> Command {
        let mut command = executable("credgate");
        command.args(["lookup", node]).args(self.client_arguments(address, identity));
        command
    }

    /// `--addr … --ca … --token-file …` and so on, as `credgate lookup` and `credgate-probe` take them.
    pub fn client_arguments(&self, address: SocketAddr, identity: &Identity) -> Vec<String> {
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let mut arguments =
            vec!["--addr".into(), address.to_string(), "--token-file".into(), path(&identity.token_file)];
        match self.security {
            Security::Plaintext => arguments.push("--plaintext".into()),
            Security::Mtls | Security::Token => arguments.extend(["--ca".into(), path(&self.path("ca.pem"))]),
        }
        if let Some(files) = &identity.files {
            arguments.extend(["--cert".into(), path(&files.cert), "--key".into(), path(&files.key)]);
        }
        arguments
    }

    /// How a registrar reaches a gateway over TLS with an identity's files, as they stand now.
    pub fn endpoint(&self, address: SocketAddr, identity: &Identity) -> Endpoint {
        let files = identity.files.as_ref();
        let settings = Settings {
            address: address.to_string(),
            ca: Some(self.path("ca.pem")),
            cert: files.map(|files| files.cert.clone()),
            key: files.map(|files| files.key.clone()),
            server_name: Some(SERVER_NAME.into()),
            token_file: identity.token_file.clone(),
            plaintext: false,
        };
        Endpoint::prepare(&settings).unwrap()
    }

    /// Starts `credgate serve` and waits until it is ready.
    pub fn start(&self) -> Gateway {
        Gateway::ready(self.spawn())
    }

    /// Starts `credgate serve` and waits for nothing.
    pub fn spawn(&self) -> Process {
        Process::start(self.command(["serve"]))
    }

    /// Every secret of this deployment: tokens and passwords.
    pub fn secrets(&self) -> Vec<String> {
        let tokens = [&self.registrar, &self.probe].map(|identity| identity.token.expose().to_owned());
        tokens.into_iter().chain(self.nodes.passwords().map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests;
