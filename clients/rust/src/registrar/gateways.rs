//! Which gateway to ask: the first of the list that is healthy, as far as its health stream and its last answers tell.

use std::time::Duration;

use crate::{LookupError, registrar::Unavailable};

/// What is known of each gateway.
#[derive(Debug)]
pub(super) struct Gateways(Vec<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// What its health stream said last; `None` while that is not known.
    serving: Option<bool>,
    avoid_until: Duration,
}

impl Gateways {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![Known::default(); count])
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The best one; another than `but` where there is one. When all look bad the best of them is tried anyway.
    pub(super) fn choose(&self, now: Duration, but: Option<usize>) -> usize {
        let others = (0..self.0.len()).filter(|index| Some(*index) != but);
        others.min_by_key(|index| self.0[*index].rank(now)).unwrap_or(0)
    }

    /// Learns from an answer. Only what tells of the gateway itself counts, not of the store behind it.
    pub(super) fn heard(&mut self, index: usize, error: &LookupError, now: Duration) {
        let avoid = match Unavailable(error.clone()).word() {
            "DRAINING" | "NO_CONNECTION" => AWAY,
            // A gateway answers a little before the deadline: whoever does not is cut off from us.
            "NO_ANSWER" => SILENT,
            _ => return,
        };
        self.0[index].avoid_until = now + avoid;
    }

    /// What its health stream says; `fresh` when a new stream says its first word.
    pub(super) fn watched(&mut self, index: usize, serving: Option<bool>, fresh: bool) {
        let known = &mut self.0[index];
        known.serving = serving;
        if serving == Some(true) && fresh {
            known.avoid_until = Duration::ZERO;
        }
    }
}

impl Known {
    fn rank(&self, now: Duration) -> u8 {
        match self.serving {
            _ if now < self.avoid_until => 2,
            Some(true) => 0,
            None => 1,
            Some(false) => 2,
        }
    }
}

/// A gateway that went is left until its health stream is back, or this long where no stream can be had.
const AWAY: Duration = Duration::from_secs(1);

/// Below the time (25 s) after which keepalive finds a dead connection.
const SILENT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    #[test]
    fn the_first_healthy_one_is_asked_and_another_one_for_the_retry() {
        let now = Duration::from_secs(100);
        let mut gateways = Gateways::new(3);
        assert_eq!((gateways.choose(now, None), gateways.choose(now, Some(0))), (0, 1));
        gateways.watched(1, Some(true), true);
        assert_eq!((gateways.choose(now, None), gateways.choose(now, Some(1))), (1, 0), "known to serve is better");
        gateways.watched(0, Some(true), true);
        gateways.watched(2, Some(false), true);
        assert_eq!((gateways.choose(now, None), gateways.choose(now, Some(0))), (0, 1));
        gateways.watched(0, Some(false), false);
        gateways.watched(1, Some(false), false);
        assert_eq!(gateways.choose(now, None), 0, "one of the bad ones");
        assert_eq!(Gateways::new(1).choose(now, Some(0)), 0, "there is no other");
    }

    #[test]
    fn one_that_went_is_left_for_a_while_or_until_it_is_back() {
        let now = Duration::from_secs(100);
        let mut gateways = Gateways::new(2);
        gateways.watched(0, Some(true), true);
        gateways.watched(1, Some(true), true);
        gateways.heard(0, &LookupError::Unavailable { reason: Reason::default() }, now);
        assert_eq!(gateways.choose(now, None), 1);
        assert_eq!(gateways.choose(now + AWAY, None), 0);
        gateways.watched(0, Some(true), false);
        assert_eq!(gateways.choose(now, None), 1, "a late word of the old stream");
        gateways.watched(0, Some(true), true);
        assert_eq!(gateways.choose(now, None), 0);
        gateways.heard(0, &LookupError::TimedOut, now);
        assert_eq!((gateways.choose(now + AWAY, None), gateways.choose(now + SILENT, None)), (1, 0));
        gateways.heard(0, &LookupError::Authentication, now + SILENT);
        assert_eq!(gateways.choose(now + SILENT, None), 0, "its store or our identity is no matter of the gateway");
    }
}
