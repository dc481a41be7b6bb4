//! What stands between a node's registration and the gateways: a cache that bridges outages, one question at a time
//! about each node, failover. It decides nothing about the node but through [`Registrar::verify`].
//!
//! A question is a flight: a task of its own, which all who ask about that node meanwhile wait for. It runs on when they
//! leave, so that nobody's short deadline or cancellation ends it for the others.

mod answer;
mod cache;
mod clock;
mod gateways;
mod policy;
mod retry;
mod watch;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch::{Receiver, Sender, channel},
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};

use crate::{Client, Endpoint, LookupError, Password, chance::chance};
pub use answer::{Answer, Credential, Unavailable, Verdict};
use cache::Cache;
use gateways::Gateways;
pub use policy::{Grammar, Mode, NodeIds, Policy, PolicyError};

/// Asks credgate gateways for node passwords. Cheap to clone; give every registration of a process the same one.
///
/// Nothing is dialled before the first question. Calls must run on a tokio runtime, always the same one.
#[derive(Clone)]
pub struct Registrar(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    /// The health streams end with the last clone.
    watches: Mutex<JoinSet<()>>,
}

struct Shared {
    clients: Vec<Client>,
    policy: Policy,
    state: Mutex<State>,
}

struct State {
    cache: Cache,
    gateways: Gateways,
    flights: HashMap<Box<str>, Landing>,
}

/// How a flight ended, once it has.
type Landing = Receiver<Option<Result<Password, LookupError>>>;

enum Entered {
    Answered(Answer),
    Waits(Landing),
}

impl Registrar {
    /// A registrar that asks the first healthy one of these gateways.
    pub fn new(endpoints: impl IntoIterator<Item = Endpoint>, policy: Policy) -> Result<Self, PolicyError> {
        let clients: Vec<Client> = endpoints.into_iter().map(Client::new).collect();
        policy.check(clients.len())?;
        let state = State {
            cache: Cache::new(policy.ttl, policy.ttl_jitter, policy.capacity),
            gateways: Gateways::new(clients.len()),
            flights: HashMap::new(),
        };
        let shared = Arc::new(Shared { clients, policy, state: Mutex::new(state) });
        Ok(Self(Arc::new(Inner { shared, watches: Mutex::default() })))
    }

    /// The node's password, or why there is none. `timeout` may shorten the policy's own.
    pub async fn get(&self, node_id: &str, timeout: Duration) -> Answer {
        self.ask(node_id, timeout, false).await
    }

    /// The node's answer did not fit a cached password: asks the gateway now, unless it just did for this node.
    pub async fn verify_failed(&self, node_id: &str, timeout: Duration) -> Answer {
        self.ask(node_id, timeout, true).await
    }

    /// All of it: whether the node's answer fits its password, now or as it was changed since it was cached.
    pub async fn verify(
        &self,
        node_id: &str,
        timeout: Duration,
        matches: impl Fn(&Password) -> bool,
    ) -> Result<Verdict, Unavailable> {
        let mut answer = self.get(node_id, timeout).await;
        if let Answer::Credential(Credential { password, cached: true }) = &answer
            && !matches(password)
        {
            answer = self.verify_failed(node_id, timeout).await;
        }
        match answer {
            Answer::Credential(credential) if matches(&credential.password) => Ok(Verdict::Accepted),
            Answer::Credential(_) | Answer::NotFound => Ok(Verdict::Refused),
            Answer::Unavailable(unavailable) => Err(unavailable),
        }
    }

    async fn ask(&self, node_id: &str, timeout: Duration, verify: bool) -> Answer {
        let shared = &self.0.shared;
        let deadline = Instant::now() + timeout.min(shared.policy.timeout + ALLOWANCE);
        let mut landing = match self.enter(node_id, verify) {
            Entered::Answered(answer) => return answer,
            Entered::Waits(landing) => landing,
        };
        let ended = match timeout_at(deadline, landing.wait_for(Option::is_some)).await {
            // The runtime that drove the flight is gone.
            Ok(ended) => ended.ok().and_then(|ended| ended.clone()).unwrap_or(Err(LookupError::Disconnected)),
            Err(_) => Err(LookupError::TimedOut),
        };
        shared.answer(node_id, ended)
    }

    fn enter(&self, node_id: &str, verify: bool) -> Entered {
        let shared = &self.0.shared;
        if !shared.policy.node_ids.accept(node_id) {
            return Entered::Answered(Answer::NotFound);
        }
        let now = clock::now();
        let mut state = shared.state();
        if let Some(entry) = state.cache.live(node_id, now) {
            if verify && now >= entry.verify_after {
                entry.verify_after = now + shared.policy.verify_interval;
            } else if verify || shared.policy.mode == Mode::CacheFirst {
                let password = entry.password.clone();
                return Entered::Answered(Answer::Credential(Credential { password, cached: true }));
            }
        }
        // A flight whose runtime has gone will never land.
        let lives = |landing: &&Landing| landing.has_changed().is_ok() || landing.borrow().is_some();
        if let Some(landing) = state.flights.get(node_id).filter(lives) {
            return Entered::Waits(landing.clone());
        }
        let (land, landing) = channel(None);
        state.flights.insert(node_id.into(), landing.clone());
        drop(state);
        self.watch();
        tokio::spawn(Arc::clone(shared).fly(node_id.into(), land));
        Entered::Waits(landing)
    }

    /// Begins to follow the gateways' health, at the first question.
    fn watch(&self) {
        let mut watches = self.0.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if watches.is_empty() {
            for index in 0..self.0.shared.clients.len() {
                watches.spawn(watch::follow(Arc::clone(&self.0.shared), index));
            }
        }
    }
}

impl Shared {
    async fn fly(self: Arc<Self>, node_id: Box<str>, land: Sender<Option<Result<Password, LookupError>>>) {
        let (ended, asked) = self.ask_gateways(&node_id).await;
        let mut state = self.state();
        match &ended {
            Ok(password) => state.cache.store(&node_id, password.clone(), asked, chance()),
            Err(LookupError::NotFound) => drop(state.cache.remove(&node_id)),
            Err(_) => {}
        }
        state.flights.remove(&node_id);
        drop(state);
        land.send_replace(Some(ended));
    }

    /// Asks once, and once more where that may help, all before one deadline. Also says when it asked last.
    async fn ask_gateways(&self, node_id: &str) -> (Result<Password, LookupError>, Duration) {
        let deadline = Instant::now() + self.policy.timeout;
        let (first, alone) = {
            let state = self.state();
            (state.gateways.choose(clock::now(), None), state.gateways.count() == 1)
        };
        let (ended, asked) = self.ask(node_id, first, deadline).await;
        let Err(error) = ended else { return (ended, asked) };
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(pause) = retry::pause(&error, left, alone, chance()) else { return (Err(error), asked) };
        sleep(pause).await;
        let second = self.state().gateways.choose(clock::now(), Some(first));
        match self.ask(node_id, second, deadline).await {
            // A gateway's own word says more than that another one cannot be reached.
            (Err(LookupError::Dial(_) | LookupError::Disconnected | LookupError::TimedOut), _) => (Err(error), asked),
            ended => ended,
        }
    }

    async fn ask(&self, node_id: &str, index: usize, deadline: Instant) -> (Result<Password, LookupError>, Duration) {
        let asked = clock::now();
        let ended = self.clients[index].lookup_once(node_id, deadline).await;
        if let Err(error) = &ended {
            self.state().gateways.heard(index, error, clock::now());
        }
        (ended, asked)
    }

    /// What one caller is told: an unexpired password bridges whatever could not be found out.
    fn answer(&self, node_id: &str, ended: Result<Password, LookupError>) -> Answer {
        let error = match ended {
            Ok(password) => return Answer::Credential(Credential { password, cached: false }),
            Err(LookupError::NotFound) => return Answer::NotFound,
            Err(error) => error,
        };
        match self.state().cache.live(node_id, clock::now()) {
            Some(entry) => Answer::Credential(Credential { password: entry.password.clone(), cached: true }),
            None => Answer::Unavailable(Unavailable(error)),
        }
    }

    /// No code panics under this lock, and none awaits.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar").field("clients", &self.0.shared.clients).finish_non_exhaustive()
    }
}

/// How much longer than the gateway we wait, so that its own status arrives before we give up.
const ALLOWANCE: Duration = Duration::from_millis(100);
