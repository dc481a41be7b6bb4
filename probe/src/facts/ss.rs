//! Sockets as `ss` of iproute2 shows them, for a Linux whose `/proc/net` cannot be used.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{Socket, Table, Trouble, program, sockets::holder};

/// The table, marked for these processes.
pub async fn read(processes: &[u32], connections: bool) -> Result<Table, Trouble> {
    let which = if connections { "-Htnap" } else { "-Htnlp" };
    let output = program::run("ss", &[which], "install iproute2, or use --sockets proc").await?;
    if !output.is_success {
        return Err(output.failure("ss"));
    }
    let mut table = parse(&output.stdout, processes);
    table.remarks.extend(output.stderr.lines().map(str::to_owned));
    Ok(table)
}

fn parse(text: &str, processes: &[u32]) -> Table {
    let mut table = Table::default();
    for line in text.lines() {
        match socket(line, processes) {
            Some(socket) => table.sockets.push(socket),
            None => table.remarks.push(line.to_owned()),
        }
    }
    table
}

/// `LISTEN 0 1024 127.0.0.1:7444 0.0.0.0:* users:(("credgate",pid=23270,fd=9))`
fn socket(line: &str, processes: &[u32]) -> Option<Socket> {
    let mut fields = line.split_whitespace();
    let state = fields.next()?;
    let mut queue = || fields.next()?.parse::<u64>().ok();
    let _ = (queue()?, queue()?);
    let local = address(fields.next()?)?;
    let peer = fields.next()?;
    let users = line.split_once("users:(").map_or("", |(_, users)| users);
    let holders: Vec<u32> = users.split("),(").filter_map(user).collect();
    if state == "LISTEN" {
        return Some(Socket::listening(local, holder(&holders, processes, false)));
    }
    Some(Socket::connected(local, address(peer)?, state == "ESTAB", holder(&holders, processes, true)))
}

/// `("NAME",pid=N,fd=M`: the last `pid=`, since a program may choose its name.
fn user(entry: &str) -> Option<u32> {
    entry.rsplit_once(",pid=")?.1.split(',').next()?.parse().ok()
}

/// `127.0.0.1:7444`, `127.0.0.1%lo:7444`, `[::1]:7444`, `[fe80::1]%eth0:7444`, `*:7444` (all addresses).
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.split('%').next()?.trim_matches(['[', ']']);
    let ip = if host == "*" { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { host.parse().ok()? };
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
        let connected = |local, remote, is_open, holder| Socket::connected(at(local), at(remote), is_open, holder);
        let table = parse(include_str!("fixtures/ss"), &[700, 701]);
        assert_eq!(
            table.sockets,
            [
                listening("0.0.0.0:2024", Holder::Other),
                listening("127.0.0.1:7444", Holder::Unit),
                listening("127.0.0.53:53", Holder::Other),
                listening("[::]:7445", Holder::Unit),
                listening("[::]:7446", Holder::Other),
                listening("[fe80::1]:7447", Holder::Other),
                listening("127.0.0.1:7448", Holder::Other),
                connected("127.0.0.1:7444", "127.0.0.1:34928", false, Holder::Nobody),
                connected("127.0.0.1:7444", "127.0.0.1:50000", true, Holder::Unit),
                connected("127.0.0.1:7445", "127.0.0.1:50002", true, Holder::Unit),
            ]
        );
        assert_eq!(
            table.remarks,
            ["RTNETLINK answers: Invalid argument", "Cannot open netlink socket: Protocol not supported"]
        );
    }

    #[tokio::test]
    async fn the_real_ss() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let table = read(&[std::process::id()], false).await.unwrap();
        assert!(table.of_unit().any(|socket| socket.local == address), "{table:?}");
    }
}
