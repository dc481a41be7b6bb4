//! The one connection of a client: who dials, who waits, when it is replaced.
//!
//! A dial runs in a task of its own, so that a caller with little time left does not end it for the others.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use crate::{Cause, Connection, DialError, Endpoint, Step, chance::chance, dial::dial_by_steps};

/// Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(super) struct Line(Arc<Shared>);

/// A connection that took calls a moment ago.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) connection: Connection,
    pub(super) generation: u64,
    replace_at: Instant,
}

struct Shared {
    endpoint: Endpoint,
    state: Mutex<State>,
}

struct State {
    current: Option<Live>,
    generation: u64,
    dialling: Option<watch::Receiver<Progress>>,
    failures: u32,
    /// No dial before this, and what the last one said.
    held: Option<(Instant, DialError)>,
    /// A connection that was left for a fresh one is not left again before this.
    leave_after: Instant,
}

#[derive(Clone)]
enum Progress {
    At(Step),
    Done(Result<Live, DialError>),
}

impl Line {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        let state = State {
            current: None,
            generation: 0,
            dialling: None,
            failures: 0,
            held: None,
            leave_after: Instant::now(),
        };
        Self(Arc::new(Shared { endpoint, state: Mutex::new(state) }))
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    /// The connection; waits for a dial when there is none, not beyond `deadline`.
    pub(super) async fn live(&self, deadline: Instant) -> Result<Live, DialError> {
        let mut progress = match self.current_or_dial()? {
            Ok(live) => return Ok(live),
            Err(progress) => progress,
        };
        let done = progress.wait_for(|progress| matches!(progress, Progress::Done(_)));
        let in_time = timeout_at(deadline, async { done.await.is_ok() }).await;
        match (progress.borrow().clone(), in_time) {
            (Progress::Done(result), _) => result,
            (Progress::At(step), Err(_)) => Err(DialError::new(step, Cause::TimedOut)),
            // The runtime that drove the dial is gone.
            (Progress::At(step), Ok(_)) => Err(DialError::new(step, Cause::Closed)),
        }
    }

    /// Takes no more calls on the connection of that generation. False when it must be kept for now: a gateway that
    /// drains and still accepts would otherwise see one handshake for every lookup.
    pub(super) fn leave(&self, generation: u64) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        match &state.current {
            Some(live) if live.generation == generation => {
                if now < state.leave_after && !live.connection.is_closed() {
                    return false;
                }
                state.current = None;
                state.leave_after = now + LEAVE_PAUSE;
                true
            }
            _ => true,
        }
    }

    /// Ok is the current connection, Err a dial to wait for; the outer error is that of a dial just before.
    fn current_or_dial(&self) -> Result<Result<Live, watch::Receiver<Progress>>, DialError> {
        let mut state = self.state();
        let now = Instant::now();
        let current = state.current.take_if(|live| live.connection.is_closed());
        drop(current);
        if let Some(live) = state.current.clone() {
            if now >= live.replace_at && !state.is_dialling() && state.held(now).is_none() {
                self.dial(&mut state);
            }
            return Ok(Ok(live));
        }
        if !state.is_dialling() {
            if let Some(error) = state.held(now) {
                return Err(error);
            }
            self.dial(&mut state);
        }
        state.dialling.clone().map(Err).ok_or(DialError::new(Step::Connect, Cause::Closed))
    }

    fn dial(&self, state: &mut State) {
        let (progress, watcher) = watch::channel(Progress::At(Step::Resolve));
        state.dialling = Some(watcher);
        let line = self.clone();
        tokio::spawn(async move {
            let enter = |step| drop(progress.send_replace(Progress::At(step)));
            let result = dial_by_steps(&line.0.endpoint, Instant::now() + DIAL_TIMEOUT, enter).await;
            let result = line.state().settle(result);
            progress.send_replace(Progress::Done(result));
        });
    }

    /// No code panics under this lock, and none awaits.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A dial whose runtime has gone will never be done.
    fn is_dialling(&self) -> bool {
        self.dialling.as_ref().is_some_and(|dialling| dialling.has_changed().is_ok())
    }

    fn held(&self, now: Instant) -> Option<DialError> {
        self.held.as_ref().filter(|(until, _)| now < *until).map(|(_, error)| error.clone())
    }

    fn settle(&mut self, result: Result<Connection, DialError>) -> Result<Live, DialError> {
        let now = Instant::now();
        self.dialling = None;
        match result {
            Ok(connection) => {
                self.failures = 0;
                self.held = None;
                self.generation += 1;
                let live = Live { connection, generation: self.generation, replace_at: now + jittered(LONGEST_USE) };
                self.current = Some(live.clone());
                Ok(live)
            }
            Err(error) => {
                let pause = jittered(SHORTEST_HOLD * (1 << self.failures.min(5))).min(LONGEST_HOLD);
                self.failures += 1;
                self.held = Some((now + pause, error.clone()));
                Err(error)
            }
        }
    }
}

/// 80 to 120 %, so that the clients of one gateway do not all come back in the same moment.
fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.4 * chance())
}

/// Longer than a lost SYN and its first two repetitions (1 s and 3 s, RFC 6298), shorter than a person's patience.
const DIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// After this a moved DNS name or a gateway added to a pool is noticed.
const LONGEST_USE: Duration = Duration::from_secs(15 * 60);

/// Below a process's start; doubled by every further failure.
const SHORTEST_HOLD: Duration = Duration::from_millis(50);
const LONGEST_HOLD: Duration = Duration::from_secs(1);

const LEAVE_PAUSE: Duration = Duration::from_millis(500);
