//! The gRPC health service (`grpc.health.v1`), on tonic-health's generated types.
//!
//! tonic-health's own server starts `""` as SERVING, never ends a Watch and has no limits, so this is ours.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{Stream, stream};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Sleep, sleep},
};
use tonic::{Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server::Health,
};

use super::{Board, Name, Verdicts};
use crate::{jitter::jittered, outcome, rpc::Caller, shutdown::Phase};

/// Bounds of Watch.
#[derive(Clone, Copy, Debug)]
pub struct WatchLimits {
    /// The longest a stream lives, ± 20 %.
    pub max_age: Duration,
    /// Streams at once.
    pub total: usize,
    /// Streams at once of one identity.
    pub per_identity: usize,
}

/// The service on one listener.
#[derive(Clone, Debug)]
pub struct HealthService {
    board: Arc<Board>,
    limits: WatchLimits,
    /// The phase at which Watches of this listener end.
    until: Phase,
    total: Arc<Semaphore>,
    identities: Arc<[Arc<Semaphore>]>,
}

/// Places among the Watches.
type Places = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl HealthService {
    /// A service whose Watches end when `until` is reached, for so many identities.
    pub fn new(board: Arc<Board>, limits: WatchLimits, until: Phase, identities: usize) -> Self {
        let identities = (0..identities).map(|_| Arc::new(Semaphore::new(limits.per_identity))).collect();
        Self { board, limits, until, total: Arc::new(Semaphore::new(limits.total)), identities }
    }

    /// Watches that are open now.
    pub fn watches(&self) -> usize {
        self.limits.total - self.total.available_permits().min(self.limits.total)
    }

    fn places(&self, caller: &Caller) -> Option<Places> {
        let own = Arc::clone(self.identities.get(caller.principal.index)?).try_acquire_owned().ok()?;
        let total = Arc::clone(&self.total).try_acquire_owned().ok()?;
        Some((own, total))
    }

    /// Until its maximum age, or the end of the caller's certificate.
    fn lifetime(&self, caller: &Caller) -> Duration {
        let age = jittered(self.limits.max_age);
        match caller.certificate_end {
            Some(end) => age.min(end.duration_since(SystemTime::now()).unwrap_or_default()),
            None => age,
        }
    }
}

#[tonic::async_trait]
impl Health for HealthService {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let name = Name::parse(&request.get_ref().service).ok_or_else(outcome::unknown_health_name)?;
        Ok(Response::new(response(status(self.board.verdicts(), Some(name)))))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let caller = request.extensions().get::<Caller>().ok_or_else(outcome::too_many_watches)?;
        let places = self.places(caller).ok_or_else(outcome::too_many_watches)?;
        let watching = Watching {
            name: Name::parse(&request.get_ref().service),
            verdicts: self.board.subscribe(),
            phases: self.board.phases().subscribe(),
            until: self.until,
            end: Box::pin(sleep(self.lifetime(caller))),
            told: None,
            _places: places,
        };
        Ok(Response::new(Box::pin(stream::unfold(watching, Watching::next))))
    }
}

/// One Watch.
struct Watching {
    name: Option<Name>,
    verdicts: watch::Receiver<Verdicts>,
    phases: watch::Receiver<Phase>,
    until: Phase,
    end: Pin<Box<Sleep>>,
    told: Option<ServingStatus>,
    _places: Places,
}

impl Watching {
    /// The next status that differs from the last one told. A slow watcher sees only the newest.
    async fn next(mut self) -> Option<(Result<HealthCheckResponse, Status>, Self)> {
        loop {
            let over = *self.phases.borrow_and_update() >= self.until;
            let status =
                if over { ServingStatus::NotServing } else { status(*self.verdicts.borrow_and_update(), self.name) };
            if self.told != Some(status) && !(over && self.name.is_none()) {
                self.told = Some(status);
                return Some((Ok(response(status)), self));
            }
            if over {
                return None;
            }
            tokio::select! {
                _ = self.verdicts.changed() => {}
                _ = self.phases.changed() => {}
                () = &mut self.end => return None,
            }
        }
    }
}

fn status(verdicts: Verdicts, name: Option<Name>) -> ServingStatus {
    match name.map(|name| verdicts.of(name)) {
        Some(true) => ServingStatus::Serving,
        Some(false) => ServingStatus::NotServing,
        None => ServingStatus::ServiceUnknown,
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
