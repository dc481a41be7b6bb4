//! How many connections each source address has.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use crate::admission::Source;

/// The count for each source that has a connection; sources without one are not kept.
#[derive(Debug)]
pub struct Sources {
    counts: Arc<Mutex<HashMap<Source, usize>>>,
    most: usize,
}

/// One connection of a source.
#[derive(Debug)]
pub struct Place {
    counts: Arc<Mutex<HashMap<Source, usize>>>,
    source: Source,
}

impl Sources {
    pub fn new(most: usize) -> Self {
        Self { counts: Arc::default(), most }
    }

    /// Counts one more, unless the source has its most already and nobody makes room.
    pub fn enter(&self, source: Source, make_room: impl FnOnce() -> bool) -> Option<Place> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(source).or_default();
        if *count >= self.most && !make_room() {
            return None;
        }
        *count += 1;
        Some(Place { counts: Arc::clone(&self.counts), source })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = counts.entry(self.source) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn each_source_has_its_own_most() {
        let sources = Sources::new(2);
        let (one, other) = (Source::from(IpAddr::from([192, 0, 2, 1])), Source::from(IpAddr::from([192, 0, 2, 2])));
        let enter = |source| sources.enter(source, || false);
        let held = [enter(one).unwrap(), enter(one).unwrap()];
        assert!(enter(one).is_none());
        assert!(sources.enter(one, || true).is_some());
        assert!(enter(other).is_some());
        drop(held);
        assert!(sources.counts.lock().unwrap().is_empty());
        assert!(enter(one).is_some());
    }
}
