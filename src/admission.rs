//! Whether a lookup may come in: how often (rate) and how many at once (capacity).

mod capacity;
mod rate;

pub use capacity::{Capacity, Exhausted};
pub use rate::{Limit, Limited, Rate, RateLimits, Scope};

use std::net::{IpAddr, Ipv6Addr};

/// Where a caller comes from, as far as limits are concerned: an IPv4 address, or an IPv6 /64, since that is what one
/// host or household commonly gets (RFC 6177).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)))
            }
            address => Self(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_counts_by_its_64() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
