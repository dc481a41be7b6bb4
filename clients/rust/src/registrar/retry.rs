//! Whether a question is asked once more, and when.

use std::time::Duration;

use crate::LookupError;

/// How long to wait before the one retry; `None` when there is to be none. `chance` is from 0 to 1.
pub(super) fn pause(error: &LookupError, left: Duration, alone: bool, chance: f64) -> Option<Duration> {
    let pause = match error {
        // Never earlier than asked for, and not all in the same moment.
        LookupError::Exhausted { retry_after: Some(wait), .. } => wait.checked_add(wait.mul_f64(0.2 * chance))?,
        LookupError::Unavailable { .. } | LookupError::Dial(_) | LookupError::Disconnected if alone => {
            PAUSE.mul_f64(0.5 + chance)
        }
        LookupError::Unavailable { .. } | LookupError::Dial(_) | LookupError::Disconnected => Duration::ZERO,
        _ => return None,
    };
    (pause < left).then_some(pause)
}

/// Before the same gateway is asked again: time to dial a new connection, or for a restart to be over.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    const LEFT: Duration = Duration::from_secs(2);

    fn exhausted(wait: Option<u64>) -> LookupError {
        LookupError::Exhausted { reason: Reason::default(), retry_after: wait.map(Duration::from_secs) }
    }

    #[test]
    fn a_gateway_without_room_is_asked_again_when_it_says_so_and_only_then() {
        assert_eq!(pause(&exhausted(None), LEFT, false, 0.0), None);
        assert_eq!(pause(&exhausted(Some(1)), LEFT, false, 0.0), Some(Duration::from_secs(1)));
        assert_eq!(pause(&exhausted(Some(1)), LEFT, true, 1.0), Some(Duration::from_millis(1200)));
        assert_eq!(pause(&exhausted(Some(2)), LEFT, false, 0.0), None, "not inside the deadline");
    }

    #[test]
    fn another_gateway_is_asked_at_once_and_the_same_one_a_little_later() {
        for error in [LookupError::Unavailable { reason: Reason::default() }, LookupError::Disconnected] {
            assert_eq!(pause(&error, LEFT, false, 1.0), Some(Duration::ZERO));
            assert_eq!(pause(&error, LEFT, true, 0.5), Some(PAUSE));
            assert_eq!(pause(&error, Duration::ZERO, false, 0.0), None);
        }
    }

    #[test]
    fn everything_else_is_said_once() {
        let reason = Reason::default();
        for error in [
            LookupError::NotFound,
            LookupError::Authentication,
            LookupError::Permission,
            LookupError::InvalidRequest { reason: reason.clone() },
            LookupError::Internal { reason },
            LookupError::TimedOut,
        ] {
            assert_eq!(pause(&error, LEFT, false, 0.0), None, "{error}");
        }
    }
}
