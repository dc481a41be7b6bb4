//! Chance, so that what began in the same second does not end in the same second.

use std::time::Duration;

/// `time` ± 20 %.
pub fn jittered(time: Duration) -> Duration {
    // Without randomness from the system everything else would have failed before.
    let chance = getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX));
    time.mul_f64(0.8 + 0.4 * chance)
}
