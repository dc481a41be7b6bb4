//! Repeated lines: one a second of each kind, and the number of those that were held back is told in any case.
//!
//! An outage or an attack must not fill the disk, and must not hide anything either: what differs is another kind and has
//! its own line. How many kinds are told apart is bounded, since a peer can invent them; the rest is counted together.

use std::{
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tokio::time::interval;

/// The lines that one cause brings.
#[derive(Clone, Debug)]
pub struct Repeats(Arc<Cause>);

#[derive(Debug)]
struct Cause {
    line: &'static str,
    cause: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kinds: Vec<Kind>,
    /// Lines of kinds beyond [`MOST`].
    others: u64,
}

#[derive(Debug)]
struct Kind {
    name: Box<str>,
    /// Of its last line.
    second: u64,
    held_back: u64,
}

/// Kinds of one cause in one second: more than there are different faults at a time, few enough for a log.
const MOST: usize = 16;

/// Every cause, for the one who tells what was held back. Logging is the process's, and so is this.
static ALL: Mutex<Vec<Weak<Cause>>> = Mutex::new(Vec::new());

impl Repeats {
    /// For lines with this message and this cause.
    pub fn of(line: &'static str, cause: &'static str) -> Self {
        let cause = Arc::new(Cause { line, cause, state: Mutex::default() });
        lock(&ALL).push(Arc::downgrade(&cause));
        Self(cause)
    }

    /// Whether a line of this kind may be written now; if so, how many like it were held back since the last one.
    pub fn allow(&self, kind: &str) -> Option<u64> {
        self.0.allow(kind, now())
    }
}

impl Cause {
    fn allow(&self, name: &str, second: u64) -> Option<u64> {
        let mut state = lock(&self.state);
        let is_full = state.kinds.len() >= MOST;
        match state.kinds.iter_mut().find(|kind| *kind.name == *name) {
            Some(kind) if kind.second == second => {
                kind.held_back += 1;
                None
            }
            Some(kind) => {
                kind.second = second;
                Some(std::mem::take(&mut kind.held_back))
            }
            None if !is_full => {
                state.kinds.push(Kind { name: name.into(), second, held_back: 0 });
                Some(0)
            }
            None => {
                state.others += 1;
                None
            }
        }
    }

    /// Forgets kinds whose last line is older than `since`, and returns what was held back of them.
    fn settle(&self, since: u64) -> Vec<(Box<str>, u64)> {
        let mut state = lock(&self.state);
        let old = state.kinds.extract_if(.., |kind| kind.second < since);
        let mut held: Vec<_> = old.map(|kind| (kind.name, kind.held_back)).collect();
        held.push(("other kinds".into(), std::mem::take(&mut state.others)));
        held.retain(|(_, count)| *count > 0);
        held
    }

    fn tell(&self, since: u64) {
        for (kind, more) in self.settle(since) {
            tracing::warn!(line = self.line, cause = self.cause, kind = &*kind, more, "lines held back");
        }
    }
}

/// A listener that closes leaves nothing untold.
impl Drop for Cause {
    fn drop(&mut self) {
        self.tell(u64::MAX);
    }
}

/// Tells once a second what was held back and had no further line to say so. For ever.
pub async fn tell_held_back() {
    let mut ticks = interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        // A kind that goes on tells by itself, with its next line.
        tell(now().saturating_sub(1));
    }
}

/// The same for all that is left, before the last line.
pub fn tell_all_held_back() {
    tell(u64::MAX);
}

fn tell(since: u64) {
    let causes: Vec<_> = {
        let mut all = lock(&ALL);
        all.retain(|cause| cause.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    };
    causes.iter().for_each(|cause| cause.tell(since));
}

/// Seconds since the first line.
fn now() -> u64 {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    ORIGIN.elapsed().as_secs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause() -> Cause {
        Cause { line: "lookup failed", cause: "CORRUPT_RECORD", state: Mutex::default() }
    }

    #[test]
    fn every_kind_has_its_line_each_second_and_the_rest_is_counted() {
        let cause = cause();
        let lines = ["a", "b", "a", "a", "b"].map(|kind| cause.allow(kind, 7));
        assert_eq!(lines, [Some(0), Some(0), None, None, None]);
        assert_eq!(cause.allow("a", 8), Some(2));
        assert_eq!(cause.settle(8), [("b".into(), 1)], "a goes on, b does not");
        assert_eq!(cause.settle(u64::MAX), []);
        assert_eq!(cause.allow("b", 8), Some(0));
    }

    #[test]
    fn kinds_are_bounded_and_none_is_lost() {
        let cause = cause();
        let written = (0..1000).filter(|kind| cause.allow(&kind.to_string(), 1).is_some()).count();
        assert_eq!(written, MOST);
        assert_eq!(cause.settle(1), [("other kinds".into(), 1000 - MOST as u64)]);
    }
}
