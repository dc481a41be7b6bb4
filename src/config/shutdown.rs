//! `[shutdown]`: how long each step of the drain may take.

use std::{ops::RangeInclusive, time::Duration};

use credgate_provider::settings::Section;

use super::LookupSettings;
use crate::shutdown::Budget;

const STEP: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

pub fn read(section: &Section<'_>, lookup: &LookupSettings) -> Budget {
    let budget = Budget {
        lame_duck: section.within("lame_duck", Duration::ZERO, STEP),
        drain: section.within("drain_timeout", Duration::from_secs(5), STEP),
        close: section.within("close_timeout", Duration::from_secs(2), STEP),
    };
    section.finish();
    if budget.drain < lookup.timeout {
        section.warning("drain_timeout", "is shorter than lookup.timeout, so a slow lookup can be cut at shutdown");
    }
    budget
}
