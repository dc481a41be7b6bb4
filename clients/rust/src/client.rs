//! A long-lived client.

use std::time::Duration;

use tokio::time::Instant;

use crate::{CallError, Endpoint, LookupError, Password, ServingStatus, dial};

/// A client of one gateway: cheap to clone, dials when it must. Give every lookup of a process the same one.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
}

impl Client {
    /// A client that will dial at its first call. Calls must run on a tokio runtime.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    /// Asks for one node's password; ends within `timeout` + 100 ms.
    pub async fn lookup(&self, node_id: &str, timeout: Duration) -> Result<Password, LookupError> {
        let deadline = Instant::now() + timeout;
        let connection = dial(&self.endpoint, deadline).await.map_err(LookupError::Dial)?;
        connection.lookup(node_id, deadline).await
    }

    /// Asks the health service about one name: `startup`, `liveness`, `readiness`.
    pub async fn check(&self, service: &str, timeout: Duration) -> Result<ServingStatus, CallError> {
        let deadline = Instant::now() + timeout;
        dial(&self.endpoint, deadline).await?.check(service, deadline).await
    }
}
