//! Sockets as `lsof` shows them: Darwin, and any Linux that has it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Socket, Table, Trouble, program, sockets::holder};

/// The table, marked for these processes.
pub async fn read(processes: &[u32], connections: bool) -> Result<Table, Trouble> {
    let listening = ["-nP", "-iTCP", "-sTCP:LISTEN", "-FpftnT"];
    let all = ["-nP", "-iTCP", "-FpftnT"];
    let arguments: &[&str] = if connections { &all } else { &listening };
    let output = program::run("lsof", arguments, "install lsof, or use --sockets proc").await?;
    // 1 is also its answer when there is nothing to show.
    if !output.is_success && !output.stderr.trim().is_empty() && output.stdout.is_empty() {
        return Err(output.failure("lsof"));
    }
    let mut table = parse(&output.stdout, processes);
    table.remarks.extend(output.stderr.lines().map(str::to_owned));
    Ok(table)
}

/// A field a line, its first character says which (lsof(8), "OUTPUT FOR OTHER PROGRAMS"): `p` opens a process, `f` a
/// descriptor of it.
fn parse(text: &str, processes: &[u32]) -> Table {
    let mut table = Table::default();
    let mut found = Vec::new();
    let (mut process, mut descriptor) = (0, Descriptor::default());
    for line in text.lines() {
        match line.split_at_checked(1) {
            Some(("p", id)) if id.parse::<u32>().is_ok() => {
                found.extend(descriptor.take(process));
                process = id.parse().unwrap_or_default();
            }
            Some(("f", _)) => found.extend(descriptor.take(process)),
            Some(("t", kind)) if matches!(kind, "IPv4" | "IPv6") => descriptor.is_v6 = kind == "IPv6",
            Some(("n", name)) => name.clone_into(&mut descriptor.name),
            Some(("T", "ST=LISTEN")) => descriptor.listens = true,
            Some(("T", "ST=ESTABLISHED")) => descriptor.is_open = true,
            Some(("T", state)) if state.contains('=') => {}
            _ => table.remarks.push(line.to_owned()),
        }
    }
    found.extend(descriptor.take(process));
    for Found { local, remote, is_open, .. } in &found {
        let same = found.iter().filter(|other| (other.local, other.remote) == (*local, *remote));
        let holders: Vec<u32> = same.map(|other| other.process).collect();
        let holder = holder(&holders, processes, remote.is_some());
        table.sockets.push(match remote {
            Some(remote) => Socket::connected(*local, *remote, *is_open, holder),
            None => Socket::listening(*local, holder),
        });
    }
    table
}

/// What is known of a descriptor so far.
#[derive(Default)]
struct Descriptor {
    is_v6: bool,
    name: String,
    listens: bool,
    is_open: bool,
}

/// A socket as one process holds it.
struct Found {
    local: SocketAddr,
    remote: Option<SocketAddr>,
    is_open: bool,
    process: u32,
}

impl Descriptor {
    fn take(&mut self, process: u32) -> Option<Found> {
        let Self { is_v6, name, listens, is_open } = std::mem::take(self);
        let (local, remote) = match name.split_once("->") {
            Some((local, remote)) => (local, Some(address(remote, is_v6)?)),
            None if listens => (name.as_str(), None),
            None => return None,
        };
        Some(Found { local: address(local, is_v6)?, remote, is_open, process })
    }
}

/// `127.0.0.1:7444`, `[::1]:7444`, `*:7444`.
fn address(text: &str, is_v6: bool) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']).split('%').next()?;
    let ip = match host {
        "*" if is_v6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        "*" => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        host => host.parse().ok()?,
    };
    Some(SocketAddr::new(ip, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Holder;

    #[test]
    fn a_table_of_all_kinds() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let listening = |local, holder| Socket::listening(at(local), holder);
        let connected = |local, remote, holder| Socket::connected(at(local), at(remote), true, holder);
        let table = parse(include_str!("fixtures/lsof"), &[700, 701]);
        assert_eq!(
            table.sockets,
            [
                listening("127.0.0.1:7444", Holder::Unit),
                listening("[::]:7445", Holder::Unit),
                connected("127.0.0.1:7444", "127.0.0.1:50000", Holder::Unit),
                listening("0.0.0.0:7446", Holder::Other),
                listening("[::1]:7447", Holder::Other),
                connected("127.0.0.1:50000", "127.0.0.1:7444", Holder::Other),
            ]
        );
        assert_eq!(table.remarks, ["lsof: WARNING: can't stat() hfs file system /Volumes/Old"]);
    }

    #[tokio::test]
    async fn the_real_lsof() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let table = read(&[std::process::id()], false).await.unwrap();
        assert!(table.of_unit().any(|socket| socket.local == address), "{table:?}");
    }
}
