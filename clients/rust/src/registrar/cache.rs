//! The passwords a registrar keeps for a while. Knows nodes, passwords and moments; asks nobody.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    time::Duration,
};

use crate::Password;

/// Entries in the order in which they were asked for: the first makes room, and is about the first to expire.
pub(super) struct Cache {
    ttl: Duration,
    jitter: f64,
    capacity: usize,
    entries: HashMap<Box<str>, Entry>,
    order: BTreeMap<u64, Box<str>>,
    next: u64,
}

/// One node's password and until when it may be used.
pub(super) struct Entry {
    pub(super) password: Password,
    /// Before this moment a node's wrong answer is no reason to ask the gateway again.
    pub(super) verify_after: Duration,
    expires: Duration,
    place: u64,
}

impl Cache {
    pub(super) fn new(ttl: Duration, jitter: f64, capacity: usize) -> Self {
        Self { ttl, jitter, capacity, entries: HashMap::new(), order: BTreeMap::new(), next: 0 }
    }

    /// The entry, unless it has expired; then it is gone.
    pub(super) fn live(&mut self, node_id: &str, now: Duration) -> Option<&mut Entry> {
        if self.entries.get(node_id)?.expires <= now {
            self.remove(node_id);
            return None;
        }
        self.entries.get_mut(node_id)
    }

    /// Keeps what the gateway said, counted from the moment it was `asked`: no password outlives its TTL. `chance` is
    /// from 0 to 1.
    pub(super) fn store(&mut self, node_id: &str, password: Password, asked: Duration, chance: f64) {
        let verify_after = self.remove(node_id).map_or(asked, |old| old.verify_after);
        while let Some((_, first)) = self.order.first_key_value() {
            let expired = self.entries.get(first).is_none_or(|entry| entry.expires <= asked);
            if !expired && self.entries.len() < self.capacity {
                break;
            }
            let first = first.clone();
            self.remove(&first);
        }
        let ttl = self.ttl.mul_f64((1.0 - self.jitter * chance).max(0.0));
        if ttl.is_zero() {
            return;
        }
        let place = self.next;
        self.next += 1;
        self.order.insert(place, node_id.into());
        self.entries.insert(node_id.into(), Entry { password, verify_after, expires: asked + ttl, place });
    }

    pub(super) fn remove(&mut self, node_id: &str) -> Option<Entry> {
        let entry = self.entries.remove(node_id)?;
        self.order.remove(&entry.place);
        Some(entry)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} entries)", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(100);

    fn password(text: &str) -> Password {
        Password::new(text.to_owned()).unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn exposed(cache: &mut Cache, node: &str, now: u64) -> Option<String> {
        cache.live(node, seconds(now)).map(|entry| entry.password.expose().to_owned())
    }

    #[test]
    fn jitter_only_shortens_and_time_counts_from_the_question() {
        for (chance, last) in [(0.0, 100), (0.5, 90), (1.0, 80)] {
            let mut cache = Cache::new(TTL, 0.2, 10);
            cache.store("1", password("a"), seconds(1000), chance);
            assert_eq!(exposed(&mut cache, "1", 1000 + last - 1).as_deref(), Some("a"));
            assert_eq!(exposed(&mut cache, "1", 1000 + last), None);
            assert_eq!((cache.entries.len(), cache.order.len()), (0, 0), "an expired password is forgotten");
        }
    }

    #[test]
    fn the_one_asked_for_longest_ago_makes_room() {
        let mut cache = Cache::new(TTL, 0.0, 3);
        for (at, node) in [(1, "1"), (2, "2"), (3, "3"), (4, "1"), (5, "4")] {
            cache.store(node, password(node), seconds(at), 0.0);
        }
        assert_eq!(exposed(&mut cache, "2", 6), None);
        for node in ["1", "3", "4"] {
            assert_eq!(exposed(&mut cache, node, 6).as_deref(), Some(node));
        }
    }

    #[test]
    fn expired_passwords_do_not_stay_until_somebody_asks() {
        let mut cache = Cache::new(TTL, 0.0, 1000);
        for node in 0..500 {
            cache.store(&node.to_string(), password("x"), seconds(0), 0.0);
        }
        cache.store("new", password("y"), seconds(100), 0.0);
        assert_eq!((cache.entries.len(), cache.order.len()), (1, 1));
    }

    #[test]
    fn a_ttl_of_zero_keeps_nothing() {
        let mut cache = Cache::new(Duration::ZERO, 0.2, 10);
        cache.store("1", password("a"), seconds(5), 0.3);
        assert!(cache.entries.is_empty());
    }

    #[test]
    fn when_a_node_may_be_asked_for_again_survives_a_new_password() {
        let mut cache = Cache::new(TTL, 0.0, 10);
        cache.store("1", password("a"), seconds(0), 0.0);
        cache.live("1", seconds(1)).unwrap().verify_after = seconds(11);
        cache.store("1", password("b"), seconds(2), 0.0);
        assert_eq!(cache.live("1", seconds(3)).unwrap().verify_after, seconds(11));
    }

    #[test]
    fn debug_shows_no_password() {
        let mut cache = Cache::new(TTL, 0.0, 10);
        cache.store("1", password("canary"), seconds(0), 0.0);
        assert_eq!(format!("{cache:?}"), "Cache(1 entries)");
    }
}
