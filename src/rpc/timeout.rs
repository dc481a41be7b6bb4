//! The client's own deadline: the `grpc-timeout` header.

use std::time::Duration;

use http::HeaderMap;

use super::BadRequest;

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
    use proptest::prelude::*;

    use super::*;

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

    proptest! {
        #[test]
        fn any_bytes_are_a_time_or_nothing(value in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = parse(&value);
        }
    }
}
