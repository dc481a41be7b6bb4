//! One finite read of a target, and what its answer means.
//!
//! Decides which answers are a refusal that no waiting changes. Does not know processes: who answered is for others to
//! find out, from the two ends of the connection that are handed on.

mod page;

use std::{net::SocketAddr, time::Duration};

use credgate_client::{CallError, Cause, Connection, DialError, Endpoint, ServingStatus, Step, code_name};
use tokio::time::Instant;
use tonic::Code;

use crate::{ask, target::Target};

/// What one read brought.
#[derive(Debug)]
pub struct Reading {
    /// What it means.
    pub meaning: Meaning,
    /// In words: `answered NOT_SERVING`, `gave no answer (connect: connection refused)`.
    pub words: String,
    /// The addresses that the target has; the first ones may have been tried in vain.
    pub addresses: Vec<SocketAddr>,
    /// The one of them that took the connection.
    pub taken: Option<SocketAddr>,
    /// The connection, kept open: as long as it is, a socket table shows who holds its far end.
    pub line: Option<Line>,
}

/// Answers by what they are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// SERVING, or HTTP 2xx.
    Serving,
    /// Not now; another read may bring another answer.
    NotYet,
    /// Whoever answers does not want this request; the next one will be refused like it.
    Refusal,
    /// No answer.
    Silence,
}

/// An open connection.
#[derive(Debug)]
pub struct Line {
    /// Our end.
    pub local: Option<SocketAddr>,
    _open: Open,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held to keep the connection open")]
enum Open {
    Gateway(Connection),
    Page(page::Open),
}

/// Reads once, within `timeout`.
pub async fn read(target: &Target, timeout: Duration) -> Reading {
    let deadline = Instant::now() + timeout;
    match target {
        Target::Gateway(endpoint) => gateway(endpoint, deadline).await,
        Target::Page(page) => page::read(page, deadline).await,
    }
}

async fn gateway(endpoint: &Endpoint, deadline: Instant) -> Reading {
    let addresses = match credgate_client::resolve(endpoint, deadline).await {
        Ok(addresses) => addresses,
        Err(error) => return Reading::silence(&error, Vec::new(), None),
    };
    let mut failed = None;
    for (tried, address) in addresses.iter().enumerate() {
        match credgate_client::dial_address(endpoint, *address, share(deadline, addresses.len() - tried)).await {
            Ok(connection) => return check(connection, addresses.clone(), *address, deadline).await,
            Err(error) => {
                let reached = error.step != Step::Connect;
                failed = Some((error, reached.then_some(*address)));
                if reached {
                    break;
                }
            }
        }
    }
    match failed {
        Some((error, Some(taken))) => Reading::undialled(&error, addresses, taken),
        Some((error, None)) => Reading::silence(&error, addresses, None),
        None => Reading::silence(&"resolve: the name has no address", addresses, None),
    }
}

async fn check(connection: Connection, addresses: Vec<SocketAddr>, taken: SocketAddr, deadline: Instant) -> Reading {
    let (meaning, words) = match connection.check("readiness", deadline).await {
        Ok(ServingStatus::Serving) => (Meaning::Serving, "answered SERVING".to_owned()),
        Ok(other) => (Meaning::NotYet, format!("answered {}", other.as_str_name())),
        Err(CallError::Status(status)) => {
            (meaning(status.code()), format!("answered {}{}", code_name(status.code()), ask::hint(status.code())))
        }
        Err(CallError::Dial(error)) => return Reading::undialled(&error, addresses, taken),
        Err(error) => return Reading::silence(&error, addresses, Some(taken)),
    };
    let line = Line { local: connection.local_address(), _open: Open::Gateway(connection) };
    Reading { meaning, words, addresses, taken: Some(taken), line: Some(line) }
}

/// Statuses that refuse the request itself. All others may be the state of the moment.
fn meaning(code: Code) -> Meaning {
    match code {
        Code::Unauthenticated
        | Code::PermissionDenied
        | Code::Unimplemented
        | Code::NotFound
        | Code::InvalidArgument => Meaning::Refusal,
        _ => Meaning::NotYet,
    }
}

impl Reading {
    fn silence(cause: &impl ToString, addresses: Vec<SocketAddr>, taken: Option<SocketAddr>) -> Self {
        let words = format!("gave no answer ({})", cause.to_string());
        Self { meaning: Meaning::Silence, words, addresses, taken, line: None }
    }

    /// Somebody took the connection and it came to nothing: a refusal when the two sides do not agree (certificates,
    /// TLS or not, HTTP/2 or not), silence when it broke or took too long.
    fn undialled(error: &DialError, addresses: Vec<SocketAddr>, taken: SocketAddr) -> Self {
        let mut reading = Self::silence(error, addresses, Some(taken));
        if matches!(error.cause, Cause::Refused(_)) {
            reading.meaning = Meaning::Refusal;
        }
        reading
    }
}

/// Until when the next of `rest` addresses may be tried, so that one black hole does not eat all the time.
fn share(deadline: Instant, rest: usize) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / u32::try_from(rest.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_statuses_refuse_and_no_other() {
        let refusals = [3, 5, 7, 12, 16];
        for code in 0..17 {
            let wanted = if refusals.contains(&code) { Meaning::Refusal } else { Meaning::NotYet };
            assert_eq!(meaning(Code::from(code)), wanted, "{code}");
        }
    }
}
