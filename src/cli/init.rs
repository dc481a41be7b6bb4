//! `credgate init`: a loopback deployment that works, to try and to copy from.
//!
//! Everything is made new: CA, certificates, tokens, passwords. Nothing that exists is overwritten.

mod files;
mod pki;
mod store;

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    Exit,
    print::{err, out},
    token,
};
use files::Files;
use pki::Authority;
use store::Store;

#[derive(Args, Debug)]
pub struct Init {
    /// Folder to make; it must not exist yet, or be empty
    dir: PathBuf,
    /// Port of the lookup listener; the control listener takes the next one, metrics the one after (0: any free ports)
    #[arg(long, value_name = "PORT", default_value_t = 7443)]
    port: u16,
    /// One more name or address for the server's certificate, beside localhost; may be given several times
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Where the nodes are kept
    #[arg(long, value_enum, default_value_t)]
    store: Store,
}

/// Why there is no deployment.
#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: is not empty; name a new folder", .0.display())]
    NotEmpty(PathBuf),
    #[error("--port: must be 0, or at most {} since three ports are taken", u16::MAX - 2)]
    Port,
    #[error("the system gives no randomness: {0}")]
    Random(#[from] getrandom::Error),
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[cfg(feature = "sql")]
    #[error("cannot make the database: {0}")]
    Database(String),
}

pub const EXAMPLES: &str = "\
Examples:
  credgate init gate                    ports 7443, 7444 and 7445 on loopback; SQLite
  credgate init gate --store csv        nodes in a file
  credgate init gate --name gateway-1   for clients that reach it under that name

Nothing that exists is overwritten. The CA's key is in the folder: for a trial, not for a network.";

impl Init {
    pub fn run(self) -> Exit {
        match self.make() {
            Ok(()) => {
                out!("{}", self.next_steps());
                Exit::Clean
            }
            Err(error) => {
                err!("credgate: {error}");
                Exit::Failure
            }
        }
    }

    fn make(&self) -> Result<(), InitError> {
        let ports = self.ports().ok_or(InitError::Port)?;
        let files = Files::in_new(&self.dir)?;
        let authority = Authority::new()?;
        files.public("ca.pem", &authority.certificate())?;
        files.private("ca.key", &authority.key())?;
        for pair in [authority.server(&self.names)?, authority.client("registrar")?, authority.client("probe")?] {
            files.public(&format!("{}.pem", pair.name), &pair.certificate)?;
            files.private(&format!("{}.key", pair.name), &pair.key)?;
        }
        let (registrar, probe) = (token::new()?, token::new()?);
        files.private("registrar.token", &format!("{}\n", *registrar))?;
        files.private("probe.token", &format!("{}\n", *probe))?;
        let digests = [token::digest(&registrar), token::digest(&probe)];
        files.public("credgate.toml", &configuration(ports, &digests, self.store))?;
        self.store.fill(&files)
    }

    /// Ports of lookup, control and metrics.
    fn ports(&self) -> Option<[u16; 3]> {
        match self.port {
            0 => Some([0; 3]),
            port => Some([port, port.checked_add(1)?, port.checked_add(2)?]),
        }
    }

    fn next_steps(&self) -> String {
        let dir = shell(&self.dir);
        let [lookup, control, _] = self.ports().unwrap_or_default();
        let port = |port: u16| if port == 0 { "PORT".to_owned() } else { port.to_string() };
        format!(
            "\
Made {dir}: a CA, certificates, tokens, {count} sample nodes and credgate.toml.

Start it:
  credgate serve --config {dir}/credgate.toml

Ask from another terminal:
  credgate-probe readiness --addr 127.0.0.1:{control} --ca {dir}/ca.pem \\
    --cert {dir}/probe.pem --key {dir}/probe.key --token-file {dir}/probe.token
  credgate lookup 2000 --addr 127.0.0.1:{lookup} --ca {dir}/ca.pem \\
    --cert {dir}/registrar.pem --key {dir}/registrar.key --token-file {dir}/registrar.token --show-password

{store}",
            count = store::NODES.len(),
            store = self.store.what_to_know(&dir),
            lookup = port(lookup),
            control = port(control),
        )
    }
}

/// A path that can be pasted into a shell.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn configuration([lookup, control, metrics]: [u16; 3], [registrar, probe]: &[String; 2], store: Store) -> String {
    let provider = store.configuration();
    format!(
        r#"# A loopback deployment to try. Every setting: docs/configuration.md

[lookup]                                # registrars ask here
listen = "127.0.0.1:{lookup}"

[control]                               # probes ask here
listen = "127.0.0.1:{control}"

[tls]
cert = "server.pem"
key = "server.key"
client_ca = "ca.pem"                    # clients must show a certificate of this CA

[[identity]]                            # may look credentials up
name = "registrar"
role = "registrar"
token_sha256 = ["{registrar}"]
san = ["registrar.credgate.test"]

[[identity]]                            # may only ask for health
name = "probe"
role = "probe"
token_sha256 = ["{probe}"]
san = ["probe.credgate.test"]

{provider}

[metrics]                               # http://…/metrics, private
listen = "127.0.0.1:{metrics}"
"#
    )
}
