//! Sockets as Linux shows them: `/proc/net/tcp` and `tcp6` (proc_net(5)) for all, `/proc/PID/fd` for who holds which.
//!
//! The table is that of our own network namespace, never the process's: what listens on the port elsewhere does not
//! answer here.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, BufRead, BufReader},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::{
    Process, Socket, Table, Trouble,
    procfs::{is_gone, tree, trouble},
    sockets::Holder,
};

/// The table, marked for one process and its descendants.
pub fn read(process: &Process, connections: bool) -> Result<Table, Trouble> {
    same_network(process.id)?;
    let mut inodes = HashSet::new();
    for id in tree(process.id)? {
        held(id, &mut inodes)?;
    }
    let mut table = Table::default();
    for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match File::open(file) {
            Ok(open) => parse(BufReader::new(open), &inodes, connections, &mut table)
                .map_err(|error| Trouble::Failed(format!("{file}: {error}")))?,
            // A kernel without IPv6.
            Err(error) if file.ends_with('6') && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Trouble::Failed(format!("{file}: {error}"))),
        }
    }
    Ok(table)
}

/// A process in another network namespace has ports of its own.
fn same_network(id: u32) -> Result<(), Trouble> {
    let path = format!("/proc/{id}/ns/net");
    let theirs = match fs::read_link(&path) {
        Ok(theirs) => theirs,
        Err(error) if is_gone(&error) => return Ok(()),
        Err(error) => return Err(trouble(&path, id, &error)),
    };
    if fs::read_link("/proc/self/ns/net").is_ok_and(|ours| ours == theirs) {
        return Ok(());
    }
    Err(Trouble::Refused(format!(
        "process {id} is in another network namespace, so its ports are not those of this one; \
         run this there: nsenter --target {id} --net credgate-probe await …"
    )))
}

/// Adds the sockets among the descriptors of a process.
fn held(id: u32, inodes: &mut HashSet<u64>) -> Result<(), Trouble> {
    let path = format!("/proc/{id}/fd");
    let descriptors = match fs::read_dir(&path) {
        Ok(descriptors) => descriptors,
        Err(error) if is_gone(&error) => return Ok(()),
        Err(error) => return Err(trouble(&path, id, &error)),
    };
    for descriptor in descriptors.flatten() {
        let target = fs::read_link(descriptor.path()).unwrap_or_default();
        let inode = target.to_str().and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    Ok(())
}

/// Listening sockets come first, so the rest is read only when it is wanted.
fn parse(lines: impl BufRead, inodes: &HashSet<u64>, connections: bool, table: &mut Table) -> io::Result<()> {
    for line in lines.lines().skip(1) {
        let line = line?;
        match row(&line) {
            Some(row) if !connections && row.remote.is_some() => return Ok(()),
            Some(row) => {
                let holder = match row.inode {
                    0 => Holder::Nobody,
                    inode if inodes.contains(&inode) => Holder::Unit,
                    _ => Holder::Other,
                };
                table.sockets.push(match row.remote {
                    Some(remote) => Socket::connected(row.local, remote, row.is_open, holder),
                    None => Socket::listening(row.local, holder),
                });
            }
            None => table.remarks.push(line),
        }
    }
    Ok(())
}

struct Row {
    local: SocketAddr,
    remote: Option<SocketAddr>,
    is_open: bool,
    inode: u64,
}

/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`
fn row(line: &str) -> Option<Row> {
    let mut fields = line.split_whitespace().skip(1);
    let local = address(fields.next()?)?;
    let remote = address(fields.next()?)?;
    let state = fields.next()?;
    let inode = fields.nth(5)?.parse().ok()?;
    Some(Row { local, remote: (state != LISTEN).then_some(remote), is_open: state == ESTABLISHED, inode })
}

/// `0100007F:1D14`: the address in 32-bit words as they lie in memory, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let mut octets = [0; 16];
            octets.iter_mut().zip(words.concat()).for_each(|(to, from)| *to = from);
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Of the kernel's tcp_states.h.
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = include_str!("fixtures/proc-net-tcp");
    const TCP6: &str = include_str!("fixtures/proc-net-tcp6");

    fn table(text: &str, inodes: &[u64], connections: bool) -> Table {
        let mut table = Table::default();
        parse(text.as_bytes(), &inodes.iter().copied().collect(), connections, &mut table).unwrap();
        table
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn ipv4_ipv6_and_what_is_not_a_socket() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let four = table(TCP, &[1_562_500, 1_570_001], true);
        assert_eq!(
            four.sockets,
            [
                Socket::listening(at("0.0.0.0:2024"), Holder::Other),
                Socket::listening(at("127.0.0.1:7444"), Holder::Unit),
                Socket::connected(at("127.0.0.1:7444"), at("127.0.0.1:50000"), true, Holder::Unit),
                Socket::connected(at("127.0.0.1:7444"), at("127.0.0.1:50002"), false, Holder::Nobody),
            ]
        );
        assert_eq!(four.remarks, ["a line that is not a socket"]);
        assert_eq!(table(TCP, &[], false).sockets.len(), 2);
        let six = table(TCP6, &[31, 33], true);
        assert_eq!(
            six.sockets,
            [
                Socket::listening(at("[::]:7444"), Holder::Unit),
                Socket::listening(at("[::1]:7445"), Holder::Other),
                Socket::connected(at("127.0.0.1:7444"), at("127.0.0.1:50004"), true, Holder::Unit),
            ]
        );
    }
}
