//! How often lookups may come: in all, per identity and per source address. An absent limit is off.
//!
//! In shadow mode nothing is refused, only counted: that is how limits are sized on live traffic.
//!
//! Tables of keys are bounded. When one is full, keys it does not hold share one overflow bucket, so that a flood of
//! addresses costs no memory and pushes nobody else's state out.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use governor::{
    DefaultDirectRateLimiter, NotUntil, Quota, RateLimiter,
    clock::{Clock, DefaultClock, QuantaInstant},
};

use super::Source;
use crate::principal::Principal;
use bounded::Bounded;

mod bounded;

/// One limit: a bucket of `burst` calls that refills with `per_second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Calls per second in the long run.
    pub per_second: NonZeroU32,
    /// Calls at once.
    pub burst: NonZeroU32,
}

/// The configured limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateLimits {
    /// For all callers together.
    pub global: Option<Limit>,
    /// For each identity.
    pub identity: Option<Limit>,
    /// For each source address.
    pub source: Option<Limit>,
    /// Count what would be refused, and let it through.
    pub shadow: bool,
}

/// Which limit it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of all callers together.
    Global,
    /// That of the caller's identity.
    Identity,
    /// That of the caller's address.
    Source,
}

impl Scope {
    /// One of each.
    pub const ALL: [Self; 3] = [Self::Global, Self::Identity, Self::Source];

    /// The key in the configuration, and the metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Identity => "identity",
            Self::Source => "source",
        }
    }
}

/// A limit refused the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// When there will be room again.
    pub retry_after: Duration,
}

/// The limiters.
#[derive(Debug)]
pub struct Rate {
    clock: DefaultClock,
    global: Option<DefaultDirectRateLimiter>,
    /// One for each configured identity; empty when the limit is off.
    identity: Vec<DefaultDirectRateLimiter>,
    source: Option<RateLimiter<Source, Bounded<Source>, DefaultClock>>,
    shadow: bool,
    /// Calls over a limit, by [`Scope`].
    over: [AtomicU64; Scope::ALL.len()],
}

/// Most source addresses that are told apart: 5 MB when all are there (measured).
const MOST_SOURCES: usize = 100_000;

impl Rate {
    /// Builds the limiters that are configured, for so many identities.
    pub fn new(limits: RateLimits, identities: usize) -> Self {
        let direct = |limit: Limit| RateLimiter::direct(limit.quota());
        Self {
            clock: DefaultClock::default(),
            global: limits.global.map(direct),
            identity: limits.identity.map_or(Vec::new(), |limit| (0..identities).map(|_| direct(limit)).collect()),
            source: limits
                .source
                .map(|limit| RateLimiter::new(limit.quota(), Bounded::new(MOST_SOURCES), DefaultClock::default())),
            shadow: limits.shadow,
            over: Default::default(),
        }
    }

    /// Judges one lookup, from the narrowest limit to the widest, so that one noisy source does not use up what all share.
    pub fn admit(&self, source: Source, principal: Principal) -> Result<(), Limited> {
        let over = |scope: Scope| move |until: NotUntil<QuantaInstant>| self.over(scope, until);
        if let Some(limiter) = &self.source {
            limiter.check_key(&source).or_else(over(Scope::Source))?;
        }
        if let Some(limiter) = self.identity.get(principal.index) {
            limiter.check().or_else(over(Scope::Identity))?;
        }
        if let Some(limiter) = &self.global {
            limiter.check().or_else(over(Scope::Global))?;
        }
        Ok(())
    }

    /// How many calls were over a limit: refused, or in shadow mode let through.
    pub fn count_over(&self, scope: Scope) -> u64 {
        self.over[scope as usize].load(Ordering::Relaxed)
    }

    /// Whether calls over a limit are let through.
    pub fn is_shadow(&self) -> bool {
        self.shadow
    }

    fn over(&self, scope: Scope, until: NotUntil<QuantaInstant>) -> Result<(), Limited> {
        self.over[scope as usize].fetch_add(1, Ordering::Relaxed);
        if self.shadow { Ok(()) } else { Err(Limited { retry_after: until.wait_time_from(self.clock.now()) }) }
    }

    /// Forgets sources whose buckets are full again. Called now and then.
    pub fn tidy(&self) {
        if let Some(limiter) = &self.source {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

impl Limit {
    fn quota(self) -> Quota {
        Quota::per_second(self.per_second).allow_burst(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Role;

    fn limit(per_second: u32, burst: u32) -> Option<Limit> {
        Some(Limit { per_second: per_second.try_into().unwrap(), burst: burst.try_into().unwrap() })
    }

    fn admitted(rate: &Rate, address: &str, index: usize, calls: usize) -> usize {
        let source = Source::from(address.parse::<std::net::IpAddr>().unwrap());
        (0..calls).filter(|_| rate.admit(source, Principal { index, role: Role::Registrar }).is_ok()).count()
    }

    #[test]
    fn each_limit_counts_its_own() {
        let limits = RateLimits { global: limit(1, 5), identity: limit(1, 3), source: limit(1, 2), shadow: false };
        let rate = Rate::new(limits, 3);
        assert_eq!(admitted(&rate, "192.0.2.1", 0, 5), 2, "source");
        assert_eq!(admitted(&rate, "192.0.2.2", 0, 5), 1, "identity");
        assert_eq!(admitted(&rate, "192.0.2.3", 1, 5), 2, "source again");
        assert_eq!(admitted(&rate, "192.0.2.4", 2, 5), 0, "global");
        assert_eq!(admitted(&Rate::new(RateLimits::default(), 3), "192.0.2.1", 0, 1000), 1000, "off");
    }

    #[test]
    fn in_shadow_mode_everything_passes_and_is_counted() {
        let rate = Rate::new(RateLimits { source: limit(1, 2), shadow: true, ..RateLimits::default() }, 1);
        assert_eq!(admitted(&rate, "192.0.2.1", 0, 10), 10);
        assert_eq!(Scope::ALL.map(|scope| rate.count_over(scope)), [0, 0, 8]);
    }

    #[test]
    fn a_refusal_says_when() {
        let rate = Rate::new(RateLimits { global: limit(1, 1), ..RateLimits::default() }, 1);
        let principal = Principal { index: 0, role: Role::Registrar };
        let source = Source::from(std::net::IpAddr::from([192, 0, 2, 1]));
        rate.admit(source, principal).unwrap();
        let wait = rate.admit(source, principal).unwrap_err().retry_after;
        assert!(wait > Duration::from_millis(500) && wait <= Duration::from_secs(1), "{wait:?}");
    }
}
