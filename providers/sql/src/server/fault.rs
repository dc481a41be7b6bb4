//! How a server fails, whatever its dialect: what decides whether a connection lives on and whether a lookup is repeated.

use std::fmt;

use credgate_provider::ProviderError;

use crate::backend::Refusal;

/// Why there is no answer. The texts name tables, columns and what to do, and never a part of the URL.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The connection has ended, or cannot be used any more. A fresh one may do.
    Gone(String),
    /// The server cannot be reached, does not let us in, or cannot do what is needed.
    Refused(String),
    /// The role lacks a right: what the server says of it, the words that give the right, and to whom.
    Denied { said: String, grant: String, role: String },
    /// The server ended the statement at its timeout.
    Late,
    /// Nothing was heard of a statement by the bound.
    Silent,
    /// Nothing was heard of an attempt to connect.
    Unanswered,
    /// The statement cannot be run as it is written.
    Statement(String),
    /// The same of the operator's query: what is wrong with it.
    Query(String),
    /// The statement cannot be run for this node: a value of it, or of its row, does not convert.
    Value(String),
}

impl Fault {
    pub(crate) fn gone(text: impl fmt::Display) -> Self {
        Self::Gone(text.to_string())
    }

    pub(crate) fn denied(said: impl Into<String>, grant: impl Into<String>) -> Self {
        Self::Denied { said: said.into(), grant: grant.into(), role: "the role of provider.sql.url".to_owned() }
    }

    /// Names the role that lacks a right, as the GRANT has to name it. Only of a role that the server has let in: what
    /// stands before the @ of a URL may be anything.
    pub(crate) fn of_role(self, name: &str) -> Self {
        match self {
            Self::Denied { said, grant, .. } => Self::Denied { said, grant, role: name.to_owned() },
            other => other,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(text) => write!(f, "the connection was lost: {text}"),
            Self::Refused(text) | Self::Statement(text) => f.write_str(text),
            Self::Denied { said, grant, role } => write!(f, "{said}: {grant} TO {role}"),
            Self::Query(text) => write!(f, "the query (provider.sql.query) {text}"),
            Self::Late => f.write_str(
                "the statement did not end in time and was ended by the server: is node_id indexed, does something \
                 hold a lock?",
            ),
            Self::Silent => f.write_str("the server did not answer in time"),
            Self::Unanswered => f.write_str("the server did not answer in time to an attempt to connect"),
            Self::Value(text) => write!(f, "the query cannot be run for this node: {text}"),
        }
    }
}

impl From<Fault> for ProviderError {
    fn from(fault: Fault) -> Self {
        let text = fault.to_string().into();
        match fault {
            Fault::Gone(_) | Fault::Refused(_) | Fault::Denied { .. } | Fault::Statement(_) | Fault::Query(_) => {
                Self::Unavailable(text)
            }
            Fault::Late | Fault::Silent | Fault::Unanswered => Self::TimedOut(text),
            // Not the backend's state: it must not look like an outage.
            Fault::Value(_) => Self::Corrupt(text),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Query(text) => Self::Query(text.into()),
            // A right that is missing too: the administrator of the database grants it, and nothing here changes.
            other => Self::Store(other.to_string().into()),
        }
    }
}

/// Why a connection could not be made, as far as no server had a say in it.
pub(crate) fn unreachable(error: &sqlx::Error) -> Fault {
    let text = match error {
        sqlx::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "the database server refuses connections: it is not running, or \
                                                      listens elsewhere (host and port of provider.sql.url)"
                .to_owned(),
            std::io::ErrorKind::NotFound => {
                "the socket of the database server is not there: it is not running, or listens elsewhere".to_owned()
            }
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::BrokenPipe => {
                "the database server, or something before it, ended the connection at once".to_owned()
            }
            std::io::ErrorKind::InvalidData => tls(error),
            _ if error.to_string().contains("lookup") => {
                "the name of the database server cannot be resolved (host of provider.sql.url)".to_owned()
            }
            kind => format!("the database server cannot be reached: {kind}"),
        },
        sqlx::Error::Tls(error) => tls(error),
        _ => "the database server does not speak the protocol that provider.sql.url names".to_owned(),
    };
    Fault::Refused(text)
}

/// The words of rustls and sqlx; they name certificates and hosts, never user or password. Hosts stand in the URL too,
/// so only the first part is kept.
fn tls(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    let why = match text.split_once("invalid peer certificate: ") {
        Some((_, why)) => {
            let name: String = why.chars().take_while(|c| c.is_alphanumeric() || *c == ' ').collect();
            format!("its certificate is not accepted ({}); see provider.sql.ca and the name in the URL", name.trim())
        }
        None if text.contains("does not support TLS") || text.contains("server does not support") => {
            "it offers none; sslmode=disable in the URL goes without".to_owned()
        }
        None => "the handshake failed".to_owned(),
    };
    format!("TLS with the database server cannot be had: {why}")
}
