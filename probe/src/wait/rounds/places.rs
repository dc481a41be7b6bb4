//! Whose answer it was, as far as one look at the sockets tells.
//!
//! An error is why the answer does not count, in words for people.

use std::net::{SocketAddr, UdpSocket};

use crate::{
    answer::Reading,
    facts::{FarEnd, Process, Table, Taker},
};

/// Nobody but the unit can have taken a connection to this address.
pub fn only_the_unit(
    process: &Process,
    table: &Table,
    address: SocketAddr,
    reading: &Reading,
) -> Result<(), Option<String>> {
    let (id, port) = (process.id, address.port());
    Err(Some(match table.taker(address) {
        Taker::Unit => return Ok(()),
        Taker::Both => format!("another program listens on port {port} too, and the answer may be its own"),
        Taker::Other | Taker::Nobody if reading.taken.is_some() => {
            format!("process {id} does not listen on port {port} yet, while another program answers")
        }
        Taker::Other | Taker::Nobody => format!("process {id} does not listen on port {port} yet"),
    }))
}

/// The connection itself, when it is still open, ends at the unit.
pub fn ends_at_the_unit(
    process: &Process,
    table: &Table,
    address: SocketAddr,
    reading: &Reading,
) -> Result<(), Option<String>> {
    let Some(ours) = reading.line.as_ref().and_then(|line| line.local) else { return Ok(()) };
    let id = process.id;
    match table.far_end(ours, address) {
        // Closed: what listens is all there is to go by.
        FarEnd::Unit | FarEnd::Closed => Ok(()),
        FarEnd::Other => Err(Some(format!("process {id} listens there, but another program took the connection"))),
        FarEnd::Away => Err(Some(format!("process {id} listens there, but the connection was forwarded away"))),
    }
}

/// Where the unit listens, when that is nowhere where the target could be: `on TCP [9464], not on port 7444`.
pub fn elsewhere(table: &Table, reading: &Reading) -> Option<String> {
    let mut ports: Vec<u16> = table.of_unit().map(|socket| socket.local.port()).collect();
    let wanted = reading.addresses.first()?.port();
    if ports.is_empty() || reading.addresses.iter().any(|address| table.covers(*address) || !is_local(*address)) {
        return None;
    }
    if ports.contains(&wanted) {
        let places: Vec<_> = table.of_unit().map(|socket| socket.local.to_string()).collect();
        return Some(format!("on TCP [{}], not on the address", places.join(", ")));
    }
    ports.sort_unstable();
    ports.dedup();
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    Some(format!("on TCP [{}], not on port {wanted}", ports.join(", ")))
}

/// Whether the address is one of this host's: only such a one can be bound.
pub fn is_local(address: SocketAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address.ip(), 0)).is_ok()
}
