//! `[rate]`: how often lookups may come. An absent limit is off.

use std::num::NonZeroU32;

use credgate_provider::settings::Section;

use crate::admission::{Limit, RateLimits};

pub fn read(section: &Section<'_>) -> RateLimits {
    let limits = RateLimits {
        global: limit(&section.section("global")),
        identity: limit(&section.section("identity")),
        source: limit(&section.section("source")),
        shadow: section.or("shadow", false),
    };
    if limits.shadow {
        section.warning("shadow", "is on: calls over a limit are counted and let through");
    }
    section.finish();
    limits
}

fn limit(section: &Section<'_>) -> Option<Limit> {
    if !section.is_present() {
        return None;
    }
    let per_second = section.required::<u32>("per_second");
    let burst = section.optional::<u32>("burst").or(per_second);
    section.finish();
    let positive = |key, value: Option<u32>| match value.map(NonZeroU32::new) {
        Some(None) => {
            section.problem(key, "must be at least 1; leave the limit out to switch it off");
            None
        }
        value => value.flatten(),
    };
    let (per_second, burst) = (positive("per_second", per_second), positive("burst", burst));
    Some(Limit { per_second: per_second?, burst: burst? })
}
