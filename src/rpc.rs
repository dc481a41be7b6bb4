//! Every RPC of every listener: authenticate, then route.
//!
//! Authentication comes before anything else, unknown methods included, so nothing about the service can be learned
//! without a token. What answers is a lookup ([`Lookup`]), the health service, or "no such method".

mod body;
mod message;
mod reply;
mod timeout;

pub use body::RequestBody;
pub use message::{BadRequest, read};
pub use reply::{Reply, ReplyBody, found, refuse};

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use credgate_provider::Deadline;
use http::{HeaderMap, Method as HttpMethod, Request, Response, header::CONTENT_TYPE, request::Parts};
use http_body_util::Full;
use tokio::time::Instant;
use tonic_health::pb::{HealthCheckRequest, health_server::HealthServer};
use tower::Service as _;

use crate::{
    admission::Source,
    door::Connection,
    health::HealthService,
    lookup::Lookup,
    outcome::Outcome,
    principal::{Identities, Principal, Refusal},
    telemetry::{Counted, Metrics, Repeats},
};

pub use timeout::{client_timeout, deadline};

/// The methods we know, for routing and for metric labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// credgate.v1.CredentialService/LookupCredential
    Lookup,
    /// grpc.health.v1.Health/Check
    Check,
    /// grpc.health.v1.Health/Watch
    Watch,
    /// Any other path.
    Unknown,
}

impl Method {
    fn of(path: &str) -> Self {
        match path {
            credgate_proto::LOOKUP_PATH => Self::Lookup,
            "/grpc.health.v1.Health/Check" => Self::Check,
            "/grpc.health.v1.Health/Watch" => Self::Watch,
            _ => Self::Unknown,
        }
    }

    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Lookup => "LookupCredential",
            Self::Check => "Check",
            Self::Watch => "Watch",
            Self::Unknown => "unknown",
        }
    }
}

/// An authenticated caller on its connection; handed to the health service as a request extension.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who.
    pub principal: Principal,
    /// From where.
    pub source: Source,
    /// Until when its certificate is valid, where it has one.
    pub certificate_end: Option<SystemTime>,
}

/// What one listener answers with.
#[derive(Debug)]
pub struct Rpc {
    /// Who may call.
    pub identities: Arc<Identities>,
    /// The lookup service; absent on the control listener.
    pub lookup: Option<Arc<Lookup>>,
    /// The health service.
    pub health: HealthServer<HealthService>,
    /// Where it is counted.
    pub metrics: Arc<Metrics>,
    /// Keeps failed authentications from flooding the log, each cause at its own pace.
    pub refusals: [Repeats; Refusal::ALL.len()],
}

/// How long the one small message of a health request may take to arrive.
const HEALTH_MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);

impl Rpc {
    /// Answers one RPC. Its head comes by reference: it is large, and each future on the way would copy it.
    pub async fn answer(&self, connection: &Connection, head: &Parts, body: RequestBody) -> Reply {
        let arrival = Instant::now();
        let method = Method::of(head.uri.path());
        let counted = self.metrics.begin(method, arrival);
        let principal = match self.identities.authenticate(&head.headers, connection.peer(), SystemTime::now()) {
            Ok(principal) => principal,
            Err(refusal) => return self.refuse_stranger(connection, refusal, counted),
        };
        connection.authenticated();
        let caller = Caller {
            principal,
            source: connection.peer().address.into(),
            certificate_end: connection.peer().validity.map(|(_, end)| end),
        };
        if !is_grpc(head) {
            return refuse(counted.end(Outcome::InvalidRequest));
        }
        match (method, &self.lookup) {
            (Method::Lookup, Some(lookup)) => lookup.answer(&caller, &head.headers, body, arrival, counted).await,
            (Method::Check | Method::Watch, _) => self.health(caller, head, body, counted).await,
            // A probe is told that it may not, wherever it asks.
            (Method::Lookup, None) if principal.may_look_up().is_err() => {
                refuse(counted.end(Outcome::PermissionDenied))
            }
            (Method::Lookup, None) | (Method::Unknown, _) => refuse(counted.end(Outcome::Unimplemented)),
        }
    }

    fn refuse_stranger(&self, connection: &Connection, refusal: Refusal, counted: Counted<'_>) -> Reply {
        connection.refused();
        self.metrics.authentication_failed(refusal);
        let peer = connection.peer();
        // By address: whoever guesses tokens must not hide a registrar whose token is wrong.
        if let Some(more) = self.refusals[refusal as usize].allow(&peer.address.to_string()) {
            tracing::warn!(cause = refusal.label(), detail = %refusal, peer = %peer.address, certificate = %peer.described(), more, "authentication failed");
        }
        refuse(counted.end(Outcome::Unauthenticated))
    }

    async fn health(&self, caller: Caller, head: &Parts, body: RequestBody, counted: Counted<'_>) -> Reply {
        match self.ask_health(caller, head, body).await {
            Ok(response) => {
                counted.end_health(response.headers());
                response.map(ReplyBody::from)
            }
            Err(BadRequest::Cut) => refuse(counted.end(Outcome::Cancelled)),
            Err(_) => refuse(counted.end(Outcome::InvalidRequest)),
        }
    }

    /// tonic's codec sees only messages that ours has judged: it would call the caller's mistakes INTERNAL.
    async fn ask_health(
        &self,
        caller: Caller,
        head: &Parts,
        body: RequestBody,
    ) -> Result<Response<tonic::body::Body>, BadRequest> {
        client_timeout(&head.headers)?;
        let body = message::judged::<HealthCheckRequest, _>(body, Deadline::after(HEALTH_MESSAGE_TIMEOUT)).await?;
        let mut parts = head.clone();
        // It announces what messages may be; this one is uncompressed.
        parts.headers.remove("grpc-encoding");
        parts.extensions.insert(caller);
        match self.health.clone().call(Request::from_parts(parts, Full::new(body))).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }
}

/// RFC 9113 requests that are gRPC: POST, `application/grpc` with or without a suffix.
fn is_grpc(head: &Parts) -> bool {
    let content_type = |headers: &HeaderMap| {
        headers.get(CONTENT_TYPE).is_some_and(|value| {
            let rest = value.as_bytes().strip_prefix(b"application/grpc");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"+") || rest.starts_with(b";"))
        })
    };
    head.method == HttpMethod::POST && content_type(&head.headers)
}

/// What hyper is given for every request.
pub type Answer = Result<Response<ReplyBody>, std::convert::Infallible>;
