//! What the provider was told, and what it has done: shared by lookups, held threads and the control line.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use credgate_provider::Slot;
use serde::{Deserialize, Serialize};

use super::behaviour::{Behaviour, CheckBehaviour, CloseBehaviour, Request};

/// What the provider has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Grows with every change.
    pub version: u64,
    /// Lookups that were begun.
    pub started: u64,
    /// Lookups whose work has not ended: they have their slot.
    pub running: usize,
    /// The most of them at once.
    pub most: usize,
    /// Those of them that a thread holds until it is released.
    pub held: usize,
    /// Lookups begun, by node.
    pub by_node: BTreeMap<String, u64>,
    /// Checks begun.
    pub checks: u64,
    /// Whether closing has begun.
    pub closing: bool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    default: Behaviour,
    nodes: HashMap<String, Behaviour>,
    check: CheckBehaviour,
    close: CloseBehaviour,
    counts: Counts,
    /// How many held lookups may go.
    released: usize,
}

/// One lookup's work. Dropping it says that the work has ended: first to the counts, then to the gateway, so that the
/// next lookup is never counted beside one that has gone.
pub(super) struct Work {
    _counted: Counted,
    _slot: Slot,
}

struct Counted(Arc<State>);

impl State {
    pub(super) fn begin(self: &Arc<Self>, node: &str, slot: Slot) -> (Behaviour, Work) {
        let mut inner = self.lock();
        let behaviour = inner.nodes.get(node).unwrap_or(&inner.default).clone();
        let counts = &mut inner.counts;
        counts.started += 1;
        counts.running += 1;
        counts.most = counts.most.max(counts.running);
        *counts.by_node.entry(node.to_owned()).or_default() += 1;
        self.tell(inner);
        (behaviour, Work { _counted: Counted(Arc::clone(self)), _slot: slot })
    }

    pub(super) fn begin_check(&self) -> CheckBehaviour {
        let mut inner = self.lock();
        inner.counts.checks += 1;
        let behaviour = inner.check.clone();
        self.tell(inner);
        behaviour
    }

    pub(super) fn begin_close(&self) -> CloseBehaviour {
        let mut inner = self.lock();
        inner.counts.closing = true;
        let behaviour = inner.close.clone();
        self.tell(inner);
        behaviour
    }

    /// Blocks the thread until it is released.
    pub(super) fn hold(&self) {
        let mut inner = self.lock();
        inner.counts.held += 1;
        self.tell(inner);
        let waiting = self.changed.wait_while(self.lock(), |inner| inner.released == 0);
        let mut inner = waiting.unwrap_or_else(PoisonError::into_inner);
        inner.released -= 1;
        inner.counts.held -= 1;
        self.tell(inner);
    }

    pub(super) fn obey(&self, request: Request) -> Counts {
        let mut inner = self.lock();
        match request {
            Request::Default { behaviour } => inner.default = behaviour,
            Request::Node { node, behaviour: Some(behaviour) } => {
                inner.nodes.insert(node, behaviour);
            }
            Request::Node { node, behaviour: None } => {
                inner.nodes.remove(&node);
            }
            Request::Check { behaviour } => inner.check = behaviour,
            Request::Close { behaviour } => inner.close = behaviour,
            Request::Release { count } => {
                let held = inner.counts.held;
                inner.released = count.map_or(held, |count| inner.released + count);
                self.changed.notify_all();
            }
            Request::Counts => {}
            Request::Changed { version, within_ms } => {
                let bound = Duration::from_millis(within_ms);
                let waiting = self.changed.wait_timeout_while(inner, bound, |inner| inner.counts.version == version);
                inner = waiting.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        inner.counts.clone()
    }

    fn tell(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.counts.version += 1;
        drop(inner);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.counts.running -= 1;
        self.0.tell(inner);
    }
}
