//! `credgate lookup`: one lookup through TLS and token, like a registrar's.

use clap::Args;
use credgate_client::{Arguments, Cause, Connection, DialError, Endpoint, LookupError, Password, Step, dial};
use tokio::time::Instant;

use super::{
    Exit,
    print::{err, out},
};

#[derive(Args, Debug)]
pub struct Lookup {
    /// Node to look up
    node: String,
    #[command(flatten)]
    gateway: Arguments,
    /// Print the password
    #[arg(long)]
    show_password: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub const EXAMPLES: &str = "\
Example:
  credgate lookup 2000 --addr 127.0.0.1:7443 --ca gate/ca.pem --token-file gate/registrar.token \\
    --cert gate/registrar.pem --key gate/registrar.key --show-password

Exit codes: 0 found, 2 not found, 3 unavailable or exhausted, 4 authentication or permission, 1 anything else";

impl Lookup {
    pub fn run(self) -> Exit {
        let endpoint = match Endpoint::prepare(&self.gateway.settings()) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                for problem in error.problems() {
                    err!("credgate: {}", Arguments::problem(problem));
                }
                return Exit::Failure;
            }
        };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            err!("credgate: the system gives no resources for a connection");
            return Exit::Failure;
        };
        let result = runtime.block_on(async {
            let deadline = Instant::now() + self.gateway.timeout;
            let connection: Connection = dial(&endpoint, deadline).await?;
            connection.lookup(&self.node, deadline).await
        });
        // A resolver that hangs must not keep the program beyond its time.
        runtime.shutdown_background();
        let ending = Ending::of(&result);
        match self.json {
            true => out!("{}", self.as_json(&ending, result.as_ref().ok())),
            false => self.print(&ending, &result),
        }
        if ending.exit == Exit::Clean {
            err!(
                "credgate: a lookup does not prove the rest of the registration path (registrar, publication, DNS); see \
             docs/registration.md"
            );
        }
        ending.exit
    }

    fn print(&self, ending: &Ending, result: &Result<Password, LookupError>) {
        match result {
            Ok(password) if self.show_password => out!("{}", password.expose()),
            Ok(_) => out!("found (--show-password prints it)"),
            // It begins with the step that failed.
            Err(LookupError::Dial(error)) => err!("credgate: {error}"),
            Err(LookupError::Unexpected(_)) if ending.code == "UNIMPLEMENTED" => {
                err!("credgate: {}: no lookups here; is --addr the control listener?", ending.code);
            }
            Err(error) => err!("credgate: {}: {error}", ending.code),
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
            // Only what TLS itself says is about certificates: a gateway that stands still or is full ends a handshake too.
            Err(LookupError::Dial(DialError { step: Step::Tls, cause: Cause::Refused(_) })) => {
                ("tls", None, Exit::Refused)
            }
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
