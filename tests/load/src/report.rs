//! What a run has seen: how often each ending came, and how long it took.

use std::{collections::BTreeMap, fmt, time::Duration};

use hdrhistogram::Histogram;

use crate::{Ending, tenths::Tenths};

/// Endings and times.
#[derive(Clone, Default)]
pub struct Report {
    endings: BTreeMap<String, Histogram<u64>>,
    /// Of calls that had a moment to begin at: how late they began, and what they took in each tenth of a second.
    late: Option<Histogram<u64>>,
    tenths: Tenths,
    /// How long the run took.
    pub elapsed: Duration,
}

impl Report {
    /// One more call.
    pub fn record(&mut self, ending: &Ending, time: Duration) {
        let times = match self.endings.get_mut(ending.label()) {
            Some(times) => times,
            None => self.endings.entry(ending.label().to_owned()).or_insert_with(histogram),
        };
        times.saturating_record(micros(time));
    }

    /// One more call that began so long after its moment. The lateness is the load's own: nothing that the gateway does
    /// holds the beginning of a call back.
    pub fn began(&mut self, late: Duration) {
        self.late.get_or_insert_with(histogram).saturating_record(micros(late));
    }

    /// One more call that ended at `end` of the run, while others still began, and took `time` from its moment.
    pub fn ended_in_time(&mut self, end: Duration, time: Duration) {
        self.tenths.record(end, time);
    }

    /// By how much so many in a hundred calls began at most too late; zero where no call had a moment to begin at.
    pub fn late(&self, percent: f64) -> Duration {
        at(self.late.as_ref(), percent)
    }

    /// The p99 of a typical tenth of a second: the median of all of them. A machine that others share stands still or runs at
    /// half its speed now and then. A p99 of the whole shows only that; this one, what it is when it does not.
    pub fn typical_p99(&self) -> Duration {
        self.tenths.median_p99()
    }

    /// Calls of an ending: `right`, `WRONG`, `RESOURCE_EXHAUSTED AT_CAPACITY`.
    pub fn count(&self, ending: &str) -> u64 {
        self.endings.get(ending).map_or(0, Histogram::len)
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.endings.values().map(Histogram::len).sum()
    }

    /// Calls with the right answer.
    pub fn right(&self) -> u64 {
        self.count(Ending::Right.label())
    }

    /// What so many in a hundred of an ending's calls did not exceed.
    pub fn percentile(&self, ending: &str, percent: f64) -> Duration {
        at(self.endings.get(ending), percent)
    }

    /// Every ending but the right one, in one line: `3 × GOAWAY NO_ERROR`.
    pub fn others(&self) -> String {
        let others = self.endings.iter().filter(|(label, _)| *label != Ending::Right.label());
        others.map(|(label, times)| format!("{} × {label}", times.len())).collect::<Vec<_>>().join(", ")
    }
}

/// A table of endings, with milliseconds.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        write!(f, "{} calls in {seconds:.1} s, {:.0} a second", self.calls(), self.calls() as f64 / seconds)?;
        if self.late.is_some() {
            let [half, most] = [50.0, 99.0].map(|percent| self.late(percent).as_secs_f64() * 1000.0);
            write!(f, "; begun {half:.2} ms (p50), {most:.2} ms (p99) after their moments")?;
        }
        writeln!(f, "\n")?;
        writeln!(f, "| ending | calls | p50 ms | p90 ms | p99 ms | p99.9 ms | slowest ms |")?;
        write!(f, "|---|---|---|---|---|---|---|")?;
        for (label, times) in &self.endings {
            write!(f, "\n| {label} | {} ", times.len())?;
            for percent in [50.0, 90.0, 99.0, 99.9, 100.0] {
                write!(f, "| {:.2} ", self.percentile(label, percent).as_secs_f64() * 1000.0)?;
            }
            write!(f, "|")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} right of {}; {}", self.right(), self.calls(), self.others())
    }
}

pub(crate) fn at(times: Option<&Histogram<u64>>, percent: f64) -> Duration {
    times.map_or(Duration::ZERO, |times| Duration::from_micros(times.value_at_percentile(percent)))
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// 1 µs to 10 minutes, to three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000, 3).unwrap_or_else(|error| unreachable!("constant bounds: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_counted_and_timed_apart() {
        let mut report = Report { elapsed: Duration::from_secs(2), ..Report::default() };
        (1..=100).for_each(|ms| report.record(&Ending::Right, Duration::from_millis(ms)));
        report.record(&Ending::Status("UNAVAILABLE DRAINING".into()), Duration::from_secs(1));
        report.record(&Ending::Right, Duration::from_secs(3));
        assert_eq!((report.calls(), report.right(), report.count("UNAVAILABLE DRAINING")), (102, 101, 1));
        assert_eq!(report.percentile("right", 50.0).as_millis(), 51);
        assert_eq!(report.others(), "1 × UNAVAILABLE DRAINING");
        let text = report.to_string();
        assert!(
            text.starts_with("102 calls in 2.0 s, 51 a second\n") && text.contains("| right | 101 | 51."),
            "{text}"
        );
        (1..=100).for_each(|ms| report.began(Duration::from_millis(ms)));
        let text = report.to_string();
        assert!(text.contains("a second; begun 50.") && text.contains("99."), "{text}");
    }
}
