//! The client's own deadline, the `grpc-timeout` header, and the one that is made of it.

use std::time::Duration;

use credgate_provider::Deadline;
use http::HeaderMap;
use tokio::time::Instant;

use super::BadRequest;

/// The deadline of a call that arrived at `arrival`: its client's, or `cap` where that is tighter. A message that is there
/// already would win against one of which nothing is left, so that is told here.
pub fn deadline(headers: &HeaderMap, arrival: Instant, cap: Duration) -> Result<Deadline, BadRequest> {
    let deadline = Deadline::new(arrival, client_timeout(headers)?, cap);
    // By the clock: a nanosecond is over before anybody could be asked.
    if deadline.passed() { Err(BadRequest::TooLate) } else { Ok(deadline) }
}

/// Reads the header: 1 to 8 digits and a unit, H M S m u n ("Timeout" of the gRPC over HTTP/2 protocol description).
/// Absent means unbounded; malformed or given twice is the client's mistake.
pub fn client_timeout(headers: &HeaderMap) -> Result<Option<Duration>, BadRequest> {
    let mut values = headers.get_all("grpc-timeout").iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => parse(value.as_bytes()).map(Some).ok_or(BadRequest::Headers),
        (Some(_), Some(_)) => Err(BadRequest::Headers),
    }
}

fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let amount = digits.iter().fold(0, |amount: u64, digit| amount * 10 + u64::from(digit - b'0'));
    match unit {
        b'H' => Some(Duration::from_secs(amount * 3600)),
        b'M' => Some(Duration::from_secs(amount * 60)),
        b'S' => Some(Duration::from_secs(amount)),
        b'm' => Some(Duration::from_millis(amount)),
        b'u' => Some(Duration::from_micros(amount)),
        b'n' => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

    #[test]
    fn digits_and_a_unit() {
        for (value, wanted) in [
            ("100m", Some(Duration::from_millis(100))),
            ("0n", Some(Duration::ZERO)),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("00000001S", Some(Duration::from_secs(1))),
            ("5M", Some(Duration::from_secs(300))),
            ("7u", Some(Duration::from_micros(7))),
        ] {
            assert_eq!(parse(value.as_bytes()), wanted, "{value}");
        }
        for bad in ["", "m", "1", "1s", "1 m", "-1m", "+1m", "1.5S", "123456789m", "1mm", "0x1S", " 1S", "1S ", "١S"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn no_deadline_is_made_of_nothing() {
        let (arrival, cap) = (Instant::now(), Duration::from_secs(2));
        let made = |timeout| deadline(&HeaderMap::from_iter([(TIMEOUT, timeout)]), arrival, cap).map(Deadline::at);
        assert_eq!(made(HeaderValue::from_static("100m")), Ok(arrival + Duration::from_millis(90)));
        assert_eq!(made(HeaderValue::from_static("1H")), Ok(arrival + cap));
        assert_eq!(made(HeaderValue::from_static("0m")), Err(BadRequest::TooLate));
        assert_eq!(made(HeaderValue::from_static("1n")), Err(BadRequest::TooLate));
        assert_eq!(made(HeaderValue::from_static("1")), Err(BadRequest::Headers));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_time_or_nothing(value in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = parse(&value);
        }
    }
}
