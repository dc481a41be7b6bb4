//! A table of rate-limiter keys that never grows past its size.

use std::{
    hash::Hash,
    sync::atomic::{AtomicUsize, Ordering},
};

use dashmap::DashMap;
use governor::{
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore, keyed::ShrinkableKeyedStateStore},
};

/// Up to `most` keys with a bucket of their own; all others share one.
#[derive(Debug)]
pub struct Bounded<K: Hash + Eq> {
    buckets: DashMap<K, InMemoryState>,
    /// Counted beside the table, whose own count locks every shard.
    count: AtomicUsize,
    most: usize,
    overflow: InMemoryState,
}

impl<K: Hash + Eq + Clone> Bounded<K> {
    pub fn new(most: usize) -> Self {
        Self { buckets: DashMap::new(), count: AtomicUsize::new(0), most, overflow: InMemoryState::default() }
    }
}

impl<K: Hash + Eq + Clone> StateStore for Bounded<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        if let Some(bucket) = self.buckets.get(key) {
            return bucket.measure_and_replace(&NotKeyed::NonKey, decide);
        }
        if self.count.load(Ordering::Relaxed) >= self.most {
            return self.overflow.measure_and_replace(&NotKeyed::NonKey, decide);
        }
        let bucket = self.buckets.entry(key.clone()).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            InMemoryState::default()
        });
        bucket.measure_and_replace(&NotKeyed::NonKey, decide)
    }
}

impl<K: Hash + Eq + Clone> ShrinkableKeyedStateStore<K> for Bounded<K> {
    fn retain_recent(&self, drop_below: Nanos) {
        ShrinkableKeyedStateStore::retain_recent(&self.buckets, drop_below);
        self.count.store(self.buckets.len(), Ordering::Relaxed);
    }

    fn shrink_to_fit(&self) {
        self.buckets.shrink_to_fit();
    }

    fn len(&self) -> usize {
        self.buckets.len()
    }

    fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use governor::{Quota, RateLimiter, clock::FakeRelativeClock, middleware::NoOpMiddleware};

    use super::*;

    #[test]
    fn new_keys_share_one_bucket_when_the_table_is_full() {
        let quota = Quota::per_second(NonZeroU32::MIN);
        let clock = FakeRelativeClock::default();
        let limiter: RateLimiter<u32, Bounded<u32>, FakeRelativeClock, NoOpMiddleware<Nanos>> =
            RateLimiter::new(quota, Bounded::new(2), clock.clone());
        let mut passed = (0..1000).filter(|key| limiter.check_key(key).is_ok()).count();
        assert_eq!((passed, limiter.len()), (3, 2), "two keys of their own, one for all others");
        clock.advance(std::time::Duration::from_secs(5));
        limiter.retain_recent();
        passed = (1000..2000).filter(|key| limiter.check_key(key).is_ok()).count();
        assert_eq!((passed, limiter.len()), (3, 2), "room again once the old buckets are full");
    }
}
