//! Typed calls over `credgate-client`'s connection, with the status as it came.
//!
//! ```no_run
//! # use credgate_support::{deployment::Deployment, grpc::Client};
//! # async fn example(deployment: Deployment) {
//! let gateway = deployment.start();
//! let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
//! assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
//! assert_eq!(client.lookup("9").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
//! # }
//! ```

use std::{net::SocketAddr, time::Duration};

use credgate_client::{Connection, DialError, Endpoint, Settings, code_name, dial};
use credgate_proto::{LookupCredentialRequest, credential_service_client::CredentialServiceClient};
use tokio::time::{Instant, timeout};
use tonic::{Request, Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_types::StatusExt;

use crate::deployment::{Deployment, Identity, SERVER_NAME, Security};

/// A connection for tests. It is not opened again when it ends.
#[derive(Clone, Debug)]
pub struct Client {
    connection: Connection,
}

/// A health stream.
#[derive(Debug)]
pub struct Watch(Streaming<HealthCheckResponse>);

impl Client {
    /// No answer takes longer; a test that meets this bound fails.
    pub const BOUND: Duration = Duration::from_secs(30);

    /// Connects as an identity; fails the test when that is not possible.
    pub async fn open(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Self {
        Self::dial(deployment, address, identity, Self::BOUND)
            .await
            .unwrap_or_else(|error| panic!("{address}: {error}"))
    }

    /// Connects as an identity within `bound`.
    pub async fn dial(
        deployment: &Deployment,
        address: SocketAddr,
        identity: &Identity,
        bound: Duration,
    ) -> Result<Self, DialError> {
        let endpoint = Endpoint::prepare(&settings(deployment, address, identity)).unwrap();
        Ok(Self { connection: dial(&endpoint, Instant::now() + bound).await? })
    }

    /// The connection below, for generated clients.
    pub fn connection(&self) -> Connection {
        self.connection.clone()
    }

    /// Asks for a password without a deadline of its own. The error is [`ending`]'s line.
    pub async fn lookup(&self, node: &str) -> Result<String, String> {
        self.lookup_status(node, None).await.map_err(|status| ending(&status))
    }

    /// Asks for a password; the gateway is told `within` as grpc-timeout.
    pub async fn lookup_within(&self, node: &str, within: Duration) -> Result<String, String> {
        self.lookup_status(node, Some(within)).await.map_err(|status| ending(&status))
    }

    /// Asks for a password; the error is the whole status.
    pub async fn lookup_status(&self, node: &str, within: Option<Duration>) -> Result<String, Status> {
        let mut request = Request::new(LookupCredentialRequest { node_id: node.into() });
        if let Some(within) = within {
            request.set_timeout(within);
        }
        let mut client = CredentialServiceClient::new(self.connection());
        let answer = bounded(client.lookup_credential(request)).await?;
        Ok(answer.into_inner().password)
    }

    /// Asks once for a health status.
    pub async fn check(&self, service: &str) -> Result<ServingStatus, String> {
        let request = HealthCheckRequest { service: service.into() };
        let answer = bounded(HealthClient::new(self.connection()).check(request)).await;
        answer.map(|answer| answer.into_inner().status()).map_err(|status| ending(&status))
    }

    /// Opens a health stream.
    pub async fn watch(&self, service: &str) -> Result<Watch, String> {
        let request = HealthCheckRequest { service: service.into() };
        let answer = bounded(HealthClient::new(self.connection()).watch(request)).await;
        answer.map(|answer| Watch(answer.into_inner())).map_err(|status| ending(&status))
    }
}

impl Watch {
    /// The next status; `Ok(None)` when the stream ended with OK.
    pub async fn next(&mut self, bound: Duration) -> Result<Option<ServingStatus>, String> {
        let next = timeout(bound, self.0.message()).await;
        let next = next.unwrap_or_else(|_| panic!("the health stream says nothing for {bound:?}"));
        next.map(|answer| answer.map(|answer| answer.status())).map_err(|status| ending(&status))
    }

    /// Reads until a status comes; fails the test when the stream ends or `bound` passes.
    pub async fn until(&mut self, wanted: ServingStatus, bound: Duration) {
        let mut seen = Vec::new();
        let search = async {
            while let Ok(Some(answer)) = self.0.message().await {
                seen.push(answer.status());
                if answer.status() == wanted {
                    return true;
                }
            }
            false
        };
        let found = timeout(bound, search).await;
        assert_eq!(found, Ok(true), "no {wanted:?} on the health stream within {bound:?}; seen: {seen:?}");
    }
}

/// Code and reason in one line: `UNAUTHENTICATED`, `UNAVAILABLE BACKEND_TIMEOUT`.
pub fn ending(status: &Status) -> String {
    let code = code_name(status.code());
    match status.get_details_error_info() {
        Some(info) => format!("{code} {}", info.reason),
        None => code.into(),
    }
}

fn settings(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Settings {
    let plaintext = deployment.security == Security::Plaintext;
    Settings {
        address: address.to_string(),
        ca: (!plaintext).then(|| deployment.path("ca.pem")),
        cert: identity.files.as_ref().map(|files| files.cert.clone()),
        key: identity.files.as_ref().map(|files| files.key.clone()),
        server_name: (!plaintext).then(|| SERVER_NAME.into()),
        token_file: identity.token_file.clone(),
        plaintext,
    }
}

async fn bounded<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let bound = Client::BOUND;
    timeout(bound, call).await.unwrap_or_else(|_| panic!("no answer within {bound:?}"))
}
