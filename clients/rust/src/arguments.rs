//! The command line of a gateway's clients: where it is, and which identity to show. One set of words for all of them.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::{Problem, Settings};

/// To be flattened into a program's own arguments.
#[derive(Args, Clone, Debug)]
#[group(id = "gateway")]
pub struct Arguments {
    /// The gateway's listener
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: String,

    /// CA file of the gateway's certificate (PEM)
    #[arg(long, value_name = "FILE", required_unless_present = "plaintext")]
    ca: Option<PathBuf>,

    /// File with the bearer token
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,

    /// Client certificate (PEM), for a gateway with `tls.client_ca`
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Name in the gateway's certificate [default: the host of --addr]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// The longest to wait, everything included
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = Arguments::parse_timeout)]
    pub timeout: Duration,

    /// No TLS; loopback addresses only
    #[arg(long, conflicts_with_all = ["ca", "cert", "key", "server_name"])]
    plaintext: bool,
}

impl Arguments {
    /// `--timeout` of a program with arguments of its own: `500ms`, `2s`, up to 1h.
    pub fn parse_timeout(text: &str) -> Result<Duration, String> {
        match humantime::parse_duration(text) {
            Ok(time) if !time.is_zero() && time <= LONGEST_TIMEOUT => Ok(time),
            _ => Err("expected a time like 500ms or 2s, up to 1h".to_owned()),
        }
    }

    /// What they say.
    pub fn settings(&self) -> Settings {
        Settings {
            address: self.addr.clone(),
            ca: self.ca.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
            server_name: self.server_name.clone(),
            token_file: self.token_file.clone(),
            plaintext: self.plaintext,
        }
    }

    /// A problem of the settings, in the words of the command line.
    pub fn problem(problem: &Problem) -> String {
        match problem {
            Problem::File(error) => error.to_string(),
            Problem::Setting { setting: "address", text } => format!("--addr: {text}"),
            Problem::Setting { setting, text } => {
                format!("--{}: {text}", setting.replace('_', "-").replace(", ", ", --"))
            }
        }
    }
}

/// Longer than any orchestrator's own bound.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
