//! The corridor: a lookup from the authenticated request to its outcome, in one straight line.

use std::sync::Arc;

use credgate_proto::LookupCredentialRequest;
use credgate_provider::{Detail, NodeId, NodeIdRule, Password, ProviderError};
use http::HeaderMap;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::{
    admission::{Capacity, Rate},
    backend::Backend,
    outcome::Outcome,
    principal::Identities,
    rpc::{self, Caller, Reply, RequestBody},
    shutdown::{Draining, Phases},
    telemetry::{Counted, Delivery, OutcomeLog},
};

/// Everything a lookup passes on its way.
#[derive(Debug)]
pub struct Lookup {
    /// Whether lookups are admitted at all.
    pub phases: Phases,
    /// How often they may come.
    pub rate: Rate,
    /// The longest any of them may take.
    pub timeout: Duration,
    /// What a node ID looks like.
    pub node_ids: NodeIdRule,
    /// How many run at once.
    pub capacity: Arc<Capacity>,
    /// Who knows the answer.
    pub backend: Arc<Backend>,
    /// Those under way; the drain waits for them.
    pub in_flight: TaskTracker,
    /// Where endings are told.
    pub log: OutcomeLog,
    /// Names for the audit lines; absent = none are written.
    pub audit: Option<Arc<Identities>>,
}

/// Why a lookup ended without a password, with what the log may know beyond the outcome.
struct Ended {
    outcome: Outcome,
    detail: Option<Detail>,
}

impl Lookup {
    /// Answers one authenticated request that arrived at `arrival`.
    pub async fn answer(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        body: RequestBody,
        arrival: Instant,
        counted: Counted<'_>,
    ) -> Reply {
        match self.corridor(caller, headers, body, arrival).await {
            Ok((node, password)) => {
                counted.end(Outcome::Ok);
                rpc::found(&password, self.delivery(caller, node))
            }
            Err(Ended { outcome, detail }) => {
                self.log.tell(outcome, detail.as_ref());
                rpc::refuse(counted.end(outcome))
            }
        }
    }

    async fn corridor(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        body: RequestBody,
        arrival: Instant,
    ) -> Result<(NodeId, Password), Ended> {
        caller.principal.may_look_up()?;
        self.rate.admit(caller.source, caller.principal)?;
        let deadline = rpc::deadline(headers, arrival, self.timeout)?;
        let request: LookupCredentialRequest = rpc::read(body, deadline).await?;
        let node = self.node_ids.parse(&request.node_id)?;
        let _in_flight = self.admit()?;
        let turn = self.backend.watchdog().admit()?;
        let slot = self.capacity.slot(deadline).await?;
        let turn = self.backend.watchdog().confirm(turn)?;
        let answer = self.backend.lookup(&node, deadline, turn, slot).await?;
        answer.map(|password| (node, password)).ok_or(Ended::from(Outcome::NodeNotFound))
    }

    /// The audit line to be, where one is wanted.
    fn delivery(&self, caller: &Caller, node: NodeId) -> Option<Box<Delivery>> {
        let registrar = self.audit.as_ref()?.name(caller.principal).to_owned();
        Some(Box::new(Delivery { registrar, node }))
    }

    /// Lets a whole request in unless the gateway drains; the drain then waits for it. In this order, so that none is let
    /// in that the drain did not see.
    fn admit(&self) -> Result<TaskTrackerToken, Draining> {
        let in_flight = self.in_flight.token();
        self.phases.admit().map(|()| in_flight)
    }
}

impl From<ProviderError> for Ended {
    fn from(error: ProviderError) -> Self {
        Self { outcome: Outcome::from(&error), detail: Some(Detail::new(error)) }
    }
}

impl<E: Into<Outcome>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self { outcome: error.into(), detail: None }
    }
}
