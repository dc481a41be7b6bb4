//! The p99 of each tenth of a second of a run, by when calls ended.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::report::{at, histogram, micros};

#[derive(Clone, Default)]
pub(crate) struct Tenths {
    present: Option<(u128, Histogram<u64>)>,
    p99s: Vec<Duration>,
}

impl Tenths {
    /// One more call that ended at `end` of the run.
    pub fn record(&mut self, end: Duration, time: Duration) {
        let tenth = end.as_millis() / 100;
        let (number, times) = self.present.get_or_insert_with(|| (tenth, histogram()));
        if *number != tenth {
            *number = tenth;
            self.p99s.push(at(Some(times), 99.0));
            times.reset();
        }
        times.saturating_record(micros(time));
    }

    /// Of the whole ones; zero where there is none. The first holds the beginning and does not count.
    pub fn median_p99(&self) -> Duration {
        let mut whole = self.p99s.get(1..).unwrap_or_default().to_vec();
        whole.sort_unstable();
        whole.get(whole.len() / 2).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bad_tenths_of_five_are_not_typical() {
        let mut tenths = Tenths::default();
        for tenth in 0..7 {
            for call in 0..100 {
                let slow = [2, 4].contains(&tenth);
                let time = Duration::from_millis(if slow { 50 } else { 1 + call / 99 });
                tenths.record(Duration::from_millis(tenth * 100 + call), time);
            }
        }
        assert_eq!(tenths.median_p99().as_millis(), 1);
    }
}
