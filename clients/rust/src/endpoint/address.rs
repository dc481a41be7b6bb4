//! `HOST:PORT` taken apart, so that an IP literal never reaches a resolver.

use std::{
    fmt,
    net::{Ipv6Addr, SocketAddr},
};

use crate::Problem;

/// Where to connect.
pub(crate) struct Address {
    given: String,
    pub(crate) place: Host,
}

/// An IP literal, or a name to resolve.
pub(crate) enum Host {
    Literal(SocketAddr),
    Name(String, u16),
}

/// Takes `name:port`, `1.2.3.4:port` or `[::1]:port`; the port must be given.
pub(crate) fn parse(given: &str) -> Result<Address, Problem> {
    let address = |place| Ok(Address { given: given.to_owned(), place });
    if let Ok(literal) = given.parse::<SocketAddr>() {
        return if literal.port() == 0 {
            Err(refused("port 0 cannot be dialled"))
        } else {
            address(Host::Literal(literal))
        };
    }
    let Some((host, port)) = given.rsplit_once(':') else {
        return Err(refused("expected HOST:PORT"));
    };
    if given.parse::<Ipv6Addr>().is_ok() || host.contains(':') {
        return Err(refused("an IPv6 address is written in brackets: [::1]:7443"));
    }
    let port = match port.parse::<u16>() {
        Ok(port) if port != 0 => port,
        _ => return Err(refused("expected HOST:PORT with a port from 1 to 65535")),
    };
    if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
        return Err(refused("the host is neither a DNS name nor an IP address"));
    }
    address(Host::Name(host.to_owned(), port))
}

impl Address {
    /// The host alone, without brackets.
    pub(crate) fn host(&self) -> String {
        match &self.place {
            Host::Literal(address) => address.ip().to_string(),
            Host::Name(name, _) => name.clone(),
        }
    }

    /// Whether it can only mean this host (RFC 6761 reserves `localhost`; [`dial`](crate::dial) checks what it resolves to).
    pub(crate) fn is_loopback(&self) -> bool {
        match &self.place {
            Host::Literal(address) => address.ip().to_canonical().is_loopback(),
            Host::Name(name, _) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

fn refused(text: &str) -> Problem {
    Problem::setting("address", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_names_and_nonsense() {
        for (given, loopback) in [
            ("127.0.0.1:7443", true),
            ("127.8.9.1:1", true),
            ("[::1]:7443", true),
            ("[::ffff:127.0.0.1]:7443", true),
            ("LocalHost:7443", true),
            ("10.0.0.1:7443", false),
            ("[2001:db8::1]:7443", false),
            ("localhost.example.net:7443", false),
        ] {
            assert_eq!(parse(given).unwrap().is_loopback(), loopback, "{given}");
        }
        assert_eq!(parse("[::1]:7443").unwrap().host(), "::1");
        for bad in
            ["", "host", "host:", ":7443", "host:0", "127.0.0.1:0", "host:70000", "::1", "::1:7443", "a b:1", "u@h:1"]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
