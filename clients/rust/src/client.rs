//! A long-lived client: lookups over a connection that is made, kept and replaced as needed.
//!
//! It retries once, and only what a graceful restart of the gateway looks like. It never retries a refusal: a gateway
//! without room must not be asked twice.

mod line;

use std::{fmt, future::Future, time::Duration};

use tokio::time::Instant;
use tonic::Code;

use crate::{CallError, Connection, DialError, Endpoint, LookupError, Password, ServingStatus};
use line::{Line, Live};

/// A client of one gateway: cheap to clone, dials when it must. Give every lookup of a process the same one.
///
/// All calls share one HTTP/2 connection. It is dialled at the first call and again after GOAWAY or a failure; one that
/// has become old is replaced while it still serves. Callers wait for a dial together, each within its own deadline;
/// after a failed one, calls are refused with its error for 50 ms, growing to 1 s, before the next is tried.
#[derive(Clone)]
pub struct Client(Line);

impl Client {
    /// A client that will dial at its first call. Calls must run on a tokio runtime.
    pub fn new(endpoint: Endpoint) -> Self {
        Self(Line::new(endpoint))
    }

    /// Asks for one node's password; ends within `timeout` + 100 ms.
    ///
    /// One retry on a fresh connection, inside the same deadline, when the gateway drains or the connection ends before
    /// the answer.
    pub async fn lookup(&self, node_id: &str, timeout: Duration) -> Result<Password, LookupError> {
        let deadline = deadline(timeout);
        let ask = |connection: Connection| async move { connection.lookup(node_id, deadline).await };
        self.call(deadline, ask).await
    }

    /// Asks the health service about one name (`startup`, `liveness`, `readiness`); ends within `timeout` + 100 ms.
    pub async fn check(&self, service: &str, timeout: Duration) -> Result<ServingStatus, CallError> {
        let deadline = deadline(timeout);
        let ask = |connection: Connection| async move { connection.check(service, deadline).await };
        self.call(deadline, ask).await
    }

    async fn call<T, E, F>(&self, deadline: Instant, ask: impl Fn(Connection) -> F) -> Result<T, E>
    where
        E: From<DialError> + Restart,
        F: Future<Output = Result<T, E>>,
    {
        let Live { connection, generation, .. } = self.0.live(deadline).await?;
        let error = match ask(connection).await {
            Err(error) if error.looks_like_a_restart() => error,
            ended => return ended,
        };
        if !self.0.leave(generation) {
            return Err(error);
        }
        match self.0.live(deadline).await {
            Ok(Live { connection, .. }) => ask(connection).await,
            // The gateway's own word says more than that nobody listens any longer.
            Err(_) if error.is_answer() => Err(error),
            Err(dial) => Err(dial.into()),
        }
    }
}

#[cfg(feature = "registrar")]
impl Client {
    /// Asks once, without the retry of [`Client::lookup`]; the next call finds a fresh connection where that helps.
    pub(crate) async fn lookup_once(&self, node_id: &str, deadline: Instant) -> Result<Password, LookupError> {
        let Live { connection, generation, .. } = self.0.live(deadline).await?;
        let ended = connection.lookup(node_id, deadline).await;
        if ended.as_ref().is_err_and(Restart::looks_like_a_restart) {
            self.0.leave(generation);
        }
        ended
    }

    /// The connection that calls take now.
    pub(crate) async fn connection(&self, deadline: Instant) -> Result<Connection, DialError> {
        Ok(self.0.live(deadline).await?.connection)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(self.0.endpoint()).finish()
    }
}

/// Which errors a graceful restart of the gateway causes.
trait Restart {
    fn looks_like_a_restart(&self) -> bool;
    /// Whether the gateway itself said so.
    fn is_answer(&self) -> bool;
}

impl Restart for LookupError {
    fn looks_like_a_restart(&self) -> bool {
        matches!(self, Self::Disconnected) || self.is_answer()
    }

    fn is_answer(&self) -> bool {
        matches!(self, Self::Unavailable { reason } if reason.is("DRAINING"))
    }
}

impl Restart for CallError {
    fn looks_like_a_restart(&self) -> bool {
        match self {
            Self::Disconnected => true,
            Self::Status(status) => status.code() == Code::Cancelled,
            Self::Dial(_) | Self::TimedOut => false,
        }
    }

    fn is_answer(&self) -> bool {
        matches!(self, Self::Status(_))
    }
}

fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(LONGEST_TIMEOUT)
}

/// A day: nobody waits longer, and the sum stays within the clock's range.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);
