//! A socket table, and whom it shows at the far end of a connection.

use std::net::{IpAddr, SocketAddr};

/// One TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Where it stands; IPv4 in IPv6 clothes is IPv4 here.
    pub local: SocketAddr,
    /// The other end; `None` for a socket that listens.
    pub remote: Option<SocketAddr>,
    /// Whether it is a connection that neither side has closed.
    pub is_open: bool,
    /// Who holds it.
    pub holder: Holder,
}

/// Who holds a socket, as far as the unit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The unit's process or a descendant of it.
    Unit,
    /// Somebody else.
    Other,
    /// Nobody: its process has closed it and the system is not done with it.
    Nobody,
}

/// For a reader that names the processes of each socket. One without any, or whose processes may not be seen, is
/// nobody's when it is a connection: it is being closed. A listening one always belongs to somebody.
pub fn holder(holders: &[u32], unit: &[u32], is_connection: bool) -> Holder {
    match holders.iter().any(|id| unit.contains(id)) {
        true => Holder::Unit,
        false if holders.is_empty() && is_connection => Holder::Nobody,
        false => Holder::Other,
    }
}

/// Where our own connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// With the unit.
    Unit,
    /// With another program of this host's network.
    Other,
    /// Not in this host's network, though it is open: it was forwarded.
    Away,
    /// It is closed already, so nobody holds it.
    Closed,
}

/// All sockets that a reader showed, and the lines that it wrote besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// In the reader's order.
    pub sockets: Vec<Socket>,
    /// Lines that are not sockets.
    pub remarks: Vec<String>,
}

/// Who takes new connections to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// The unit, and nobody else.
    Unit,
    /// The unit or another program, as chance has it (SO_REUSEPORT).
    Both,
    /// Another program.
    Other,
    /// Nobody listens there.
    Nobody,
}

impl Socket {
    /// One that listens.
    pub fn listening(local: SocketAddr, holder: Holder) -> Self {
        Self { local: plain(local), remote: None, is_open: false, holder }
    }

    /// One end of a connection.
    pub fn connected(local: SocketAddr, remote: SocketAddr, is_open: bool, holder: Holder) -> Self {
        Self { local: plain(local), remote: Some(plain(remote)), is_open, holder }
    }
}

impl Table {
    /// Who takes a connection to this address. Of the sockets that listen on the port, the system prefers the one that
    /// is bound to the very address, then the one for all IPv4 addresses, then the one for all addresses (Linux:
    /// `inet_lookup_listener`); those that are equal in this share the connections between them.
    pub fn taker(&self, address: SocketAddr) -> Taker {
        let address = plain(address);
        let rank = |socket: &Socket| rank(socket.local, address);
        let best = self.listening().filter_map(rank).max();
        let mut holders = self.listening().filter(|socket| rank(socket) == best).map(|socket| socket.holder);
        if best.is_none() {
            return Taker::Nobody;
        }
        let unit = holders.clone().any(|holder| holder == Holder::Unit);
        match (unit, holders.any(|holder| holder != Holder::Unit)) {
            (true, false) => Taker::Unit,
            (true, true) => Taker::Both,
            (false, _) => Taker::Other,
        }
    }

    /// Whether the unit listens where a connection to this address could arrive, whoever else does.
    pub fn covers(&self, address: SocketAddr) -> bool {
        self.of_unit().any(|socket| rank(socket.local, plain(address)).is_some())
    }

    /// Where the unit listens.
    pub fn of_unit(&self) -> impl Iterator<Item = &Socket> {
        self.listening().filter(|socket| socket.holder == Holder::Unit)
    }

    /// Where our own connection ends.
    pub fn far_end(&self, ours: SocketAddr, theirs: SocketAddr) -> FarEnd {
        let (ours, theirs) = (plain(ours), plain(theirs));
        let end =
            |local, remote| self.sockets.iter().find(|socket| socket.local == local && socket.remote == Some(remote));
        match end(theirs, ours).map(|far| far.holder) {
            Some(Holder::Unit) => FarEnd::Unit,
            Some(Holder::Other) => FarEnd::Other,
            Some(Holder::Nobody) => FarEnd::Closed,
            None if end(ours, theirs).is_some_and(|near| near.is_open) => FarEnd::Away,
            None => FarEnd::Closed,
        }
    }

    fn listening(&self) -> impl Iterator<Item = &Socket> + Clone {
        self.sockets.iter().filter(|socket| socket.remote.is_none())
    }
}

/// How well a socket bound to `local` fits a connection to `address`.
fn rank(local: SocketAddr, address: SocketAddr) -> Option<u8> {
    if local.port() != address.port() {
        return None;
    }
    match (local.ip(), address.ip()) {
        (bound, wanted) if bound == wanted => Some(3),
        (IpAddr::V4(bound), IpAddr::V4(_)) if bound.is_unspecified() => Some(2),
        // It may be for IPv6 alone, which no table shows; then nobody takes the connection and there is no answer.
        (IpAddr::V6(bound), _) if bound.is_unspecified() => Some(1),
        _ => None,
    }
}

/// Without a mapping and a scope.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sockets: &[(&str, Holder)]) -> Table {
        let sockets = sockets.iter().map(|(local, holder)| Socket::listening(local.parse().unwrap(), *holder));
        Table { sockets: sockets.collect(), remarks: Vec::new() }
    }

    fn taker(address: &str, sockets: &[(&str, Holder)]) -> Taker {
        table(sockets).taker(address.parse().unwrap())
    }

    #[test]
    fn the_closest_socket_takes_the_connection() {
        use Holder::{Other, Unit};
        for (address, sockets, wanted) in [
            ("127.0.0.1:7444", &[][..], Taker::Nobody),
            ("127.0.0.1:7444", &[("127.0.0.1:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("127.0.0.1:7445", Unit)], Taker::Nobody),
            ("127.0.0.1:7444", &[("127.0.0.2:7444", Unit)], Taker::Nobody),
            ("127.0.0.1:7444", &[("127.0.0.2:7444", Other), ("127.0.0.1:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("0.0.0.0:7444", Unit), ("127.0.0.1:7444", Other)], Taker::Other),
            ("127.0.0.1:7444", &[("0.0.0.0:7444", Other), ("127.0.0.1:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("[::]:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("[::]:7444", Unit), ("0.0.0.0:7444", Other)], Taker::Other),
            ("127.0.0.1:7444", &[("[::]:7444", Other), ("0.0.0.0:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("[::ffff:127.0.0.1]:7444", Unit), ("0.0.0.0:7444", Other)], Taker::Unit),
            ("[::ffff:127.0.0.1]:7444", &[("127.0.0.1:7444", Unit)], Taker::Unit),
            ("[::1]:7444", &[("0.0.0.0:7444", Unit)], Taker::Nobody),
            ("[::1]:7444", &[("[::]:7444", Unit), ("[::1]:7444", Other)], Taker::Other),
            ("127.0.0.1:7444", &[("127.0.0.1:7444", Unit), ("127.0.0.1:7444", Unit)], Taker::Unit),
            ("127.0.0.1:7444", &[("127.0.0.1:7444", Unit), ("127.0.0.1:7444", Other)], Taker::Both),
            ("127.0.0.1:7444", &[("0.0.0.0:7444", Other), ("0.0.0.0:7444", Unit)], Taker::Both),
            ("127.0.0.1:7444", &[("127.0.0.1:7444", Holder::Nobody)], Taker::Other),
        ] {
            assert_eq!(taker(address, sockets), wanted, "{address} {sockets:?}");
        }
    }

    #[test]
    fn the_far_end_of_a_connection() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (ours, theirs) = (at("127.0.0.1:50000"), at("127.0.0.1:7444"));
        let near = |is_open| Socket::connected(ours, theirs, is_open, Holder::Other);
        let far =
            |holder| Socket::connected(at("[::ffff:127.0.0.1]:7444"), at("[::ffff:127.0.0.1]:50000"), true, holder);
        for (sockets, wanted) in [
            (vec![near(true), far(Holder::Unit)], FarEnd::Unit),
            (vec![near(true), far(Holder::Other)], FarEnd::Other),
            (vec![near(false), far(Holder::Nobody)], FarEnd::Closed),
            (vec![near(true), Socket::listening(theirs, Holder::Unit)], FarEnd::Away),
            (vec![near(false)], FarEnd::Closed),
            (vec![], FarEnd::Closed),
        ] {
            let table = Table { sockets, remarks: Vec::new() };
            assert_eq!(table.far_end(ours, theirs), wanted, "{table:?}");
        }
    }
}
