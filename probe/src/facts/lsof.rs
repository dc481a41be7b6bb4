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
    let mut found: Vec<(SocketAddr, Option<SocketAddr>, u32)> = Vec::new();
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
            Some(("T", state)) if state.contains('=') => descriptor.listens |= state == "ST=LISTEN",
            _ => table.remarks.push(line.to_owned()),
        }
    }
    found.extend(descriptor.take(process));
    for (local, remote, _) in &found {
        let same = found.iter().filter(|(other, to, _)| (other, to) == (local, remote));
        let holders: Vec<u32> = same.map(|(.., id)| *id).collect();
        table.sockets.push(Socket::new(*local, *remote, holder(&holders, processes, remote.is_some())));
    }
    table
}

/// What is known of a descriptor so far.
#[derive(Default)]
struct Descriptor {
    is_v6: bool,
    name: String,
    listens: bool,
}

impl Descriptor {
    fn take(&mut self, process: u32) -> Option<(SocketAddr, Option<SocketAddr>, u32)> {
        let Self { is_v6, name, listens } = std::mem::take(self);
        let (local, remote) = match name.split_once("->") {
            Some((local, remote)) => (local, Some(address(remote, is_v6)?)),
            None if listens => (name.as_str(), None),
            None => return None,
        };
        Some((address(local, is_v6)?, remote, process))
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
        let socket = |local: &str, remote: Option<&str>, holder| {
            Socket::new(local.parse().unwrap(), remote.map(|remote| remote.parse().unwrap()), holder)
        };
        let table = parse(include_str!("fixtures/lsof"), &[700, 701]);
        assert_eq!(
            table.sockets,
            [
                socket("127.0.0.1:7444", None, Holder::Unit),
                socket("[::]:7445", None, Holder::Unit),
                socket("127.0.0.1:7444", Some("127.0.0.1:50000"), Holder::Unit),
                socket("0.0.0.0:7446", None, Holder::Other),
                socket("[::1]:7447", None, Holder::Other),
                socket("127.0.0.1:50000", Some("127.0.0.1:7444"), Holder::Other),
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
