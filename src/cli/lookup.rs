//! `credgate lookup`: one lookup through TLS and token, like a registrar's.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use credgate_client::{Connection, DialError, Endpoint, LookupError, Password, Settings, Step, dial};
use tokio::time::Instant;

use super::Exit;

#[derive(Args, Debug)]
pub struct Lookup {
    /// Node to look up
    node: String,
    /// The gateway's lookup listener
    #[arg(long, value_name = "HOST:PORT")]
    addr: String,
    /// CA that signed the gateway's certificate
    #[arg(long, value_name = "FILE", required_unless_present = "plaintext")]
    ca: Option<PathBuf>,
    /// File with the bearer token
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Client certificate, where the gateway asks for one
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Name in the gateway's certificate, when it is not the host of --addr
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// The longest to wait
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// No TLS; loopback addresses only
    #[arg(long, conflicts_with_all = ["ca", "cert", "key", "server_name"])]
    plaintext: bool,
    /// Print the password
    #[arg(long)]
    show_password: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Lookup {
    pub fn run(self) -> Exit {
        let endpoint = match Endpoint::prepare(&self.settings()) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                for problem in error.problems() {
                    eprintln!("credgate: {problem}");
                }
                return Exit::Failure;
            }
        };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            eprintln!("credgate: the system gives no resources for a connection");
            return Exit::Failure;
        };
        let result = runtime.block_on(async {
            let deadline = Instant::now() + self.timeout;
            let connection: Connection = dial(&endpoint, deadline).await?;
            connection.lookup(&self.node, deadline).await
        });
        let ending = Ending::of(&result);
        match self.json {
            true => println!("{}", self.as_json(&ending, result.as_ref().ok())),
            false => self.print(&ending, &result),
        }
        eprintln!(
            "credgate: a lookup does not prove the rest of the registration path (registrar, publication, DNS); see \
             docs/registration.md"
        );
        ending.exit
    }

    fn settings(&self) -> Settings {
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

    fn print(&self, ending: &Ending, result: &Result<Password, LookupError>) {
        match result {
            Ok(password) if self.show_password => println!("{}", password.expose()),
            Ok(_) => println!("found (--show-password prints it)"),
            Err(error) => eprintln!("credgate: {}: {error}", ending.code),
        }
    }

    fn as_json(&self, ending: &Ending, password: Option<&Password>) -> String {
        let quoted = |text: &str| format!("{text:?}");
        let mut fields = vec![format!("\"code\":{}", quoted(ending.code))];
        if let Some(reason) = &ending.reason {
            fields.push(format!("\"reason\":{}", quoted(reason)));
        }
        if let Some(password) = password.filter(|_| self.show_password) {
            fields.push(format!("\"password\":{}", json_string(password.expose())));
        }
        format!("{{{}}}", fields.join(","))
    }
}

/// How the lookup ended: code, reason, exit code.
struct Ending {
    code: &'static str,
    reason: Option<String>,
    exit: Exit,
}

impl Ending {
    fn of(result: &Result<Password, LookupError>) -> Self {
        let (code, reason, exit) = match result {
            Ok(_) => ("OK", None, Exit::Clean),
            Err(LookupError::NotFound) => ("NOT_FOUND", Some("NODE_NOT_FOUND".to_owned()), Exit::NotFound),
            Err(LookupError::Unavailable { reason }) => ("UNAVAILABLE", text(reason), Exit::Unavailable),
            Err(LookupError::Exhausted { reason, .. }) => ("RESOURCE_EXHAUSTED", text(reason), Exit::Unavailable),
            Err(LookupError::Authentication) => ("UNAUTHENTICATED", None, Exit::Refused),
            Err(LookupError::Permission) => ("PERMISSION_DENIED", None, Exit::Refused),
            Err(LookupError::InvalidRequest { reason }) => ("INVALID_ARGUMENT", text(reason), Exit::Failure),
            Err(LookupError::Internal { reason }) => ("INTERNAL", text(reason), Exit::Failure),
            Err(LookupError::Dial(DialError { step: Step::Tls, .. })) => ("tls", None, Exit::Refused),
            Err(LookupError::Dial(_)) => ("unreachable", None, Exit::Unavailable),
            Err(LookupError::TimedOut) => ("timeout", None, Exit::Unavailable),
            Err(LookupError::Disconnected) => ("disconnected", None, Exit::Unavailable),
            Err(LookupError::Unexpected(code)) => (credgate_client::code_name(*code), None, Exit::Failure),
        };
        Self { code, reason, exit }
    }
}

fn text(reason: &credgate_client::Reason) -> Option<String> {
    reason.as_str().map(str::to_owned)
}

/// Passwords are printable ASCII, so only two characters need an escape (RFC 8259, section 7).
fn json_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
