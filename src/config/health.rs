//! `[health]`: how often the backend is checked, how long a good check counts, and the bounds of Watch.

use std::{ops::RangeInclusive, time::Duration};

use credgate_provider::settings::Section;

use crate::health::{HealthSettings, WatchLimits};

const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(3600);
const WATCH_AGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);

pub fn read(section: &Section<'_>) -> HealthSettings {
    let interval = section.within("interval", Duration::from_secs(5), INTERVAL);
    let timeout = section.within("timeout", Duration::from_secs(2), INTERVAL);
    let max_age = section.within("max_age", Duration::from_secs(15), INTERVAL);
    let stuck_after = section.within("stuck_after", Duration::from_secs(30), INTERVAL);
    let exit_when_stuck = section.or("exit_when_stuck", false);
    let file_interval = section.within("file_interval", Duration::from_secs(20), INTERVAL);
    let watch = WatchLimits {
        max_age: section.within("watch_max_age", Duration::from_secs(15 * 60), WATCH_AGE),
        total: section.within("watches", 4096, 0..=1_000_000),
        per_identity: section.within("watches_per_identity", 2048, 0..=1_000_000),
    };
    section.finish();
    if max_age < interval + timeout {
        section.problem(
            "max_age",
            "is shorter than interval + timeout, so readiness would come and go with a healthy backend",
        );
    }
    HealthSettings { interval, timeout, max_age, stuck_after, exit_when_stuck, file_interval, watch }
}
