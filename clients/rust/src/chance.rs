//! Chance, so that the clients of one gateway do not all do the same thing in the same moment.

/// From 0 to 1. A system without randomness is no reason to fail: half way, then.
pub(crate) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |chance| f64::from(chance) / f64::from(u32::MAX))
}
