//! URLs of database servers: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Decides which part is wrong, and never shows
//! any: in a malformed URL nobody can know which part is the password.

use std::{net::IpAddr, path::PathBuf, sync::Arc};

use zeroize::Zeroizing;

use super::{Dialect, UrlFault};

/// How to reach a server, and as whom.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
    pub(crate) place: Place,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) tls: Tls,
    /// PEM of `provider.sql.ca`.
    pub(crate) ca: Option<Arc<[u8]>>,
    /// Whether a transaction-mode pooler stands between.
    pub(crate) pooler: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Host(String),
    /// PostgreSQL: the folder of the socket. MySQL: the socket.
    Socket(PathBuf),
}

/// What protects the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Nothing.
    Off,
    /// Encryption, with whoever answers.
    Unverified,
    /// A certificate of a known CA, whatever name it bears.
    Ca,
    /// A certificate of a known CA that bears the host's name.
    Full,
}

/// What stands after the `?`.
#[derive(Default)]
struct Parameters {
    tls: Option<Tls>,
    socket: Option<PathBuf>,
}

/// Reads what stands after the scheme and its colon.
pub(super) fn parse(rest: &str, dialect: Dialect) -> Result<Server, UrlFault> {
    let rest = rest.strip_prefix("//").ok_or(UrlFault::NoSlashes)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, host) = authority.rsplit_once('@').ok_or(UrlFault::NoUser)?;
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    if user.is_empty() {
        return Err(UrlFault::NoUser);
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parameters = parameters(query)?;
    let (host, port) = split_port(host)?;
    let place = match (host, parameters.socket) {
        ("", Some(socket)) => Place::Socket(socket),
        ("", None) => return Err(UrlFault::NoHost),
        (host, None) if host.starts_with('%') => Place::Socket(socket(&decode(host)?)?),
        (host, None) => Place::Host(host_name(host)?),
        (_, Some(_)) => return Err(UrlFault::HostAndSocket),
    };
    let default = if dialect == Dialect::Postgres { 5432 } else { 3306 };
    Ok(Server {
        user: decode(user)?,
        password: Zeroizing::new(decode(password)?),
        tls: parameters.tls.unwrap_or(if place.is_local() { Tls::Off } else { Tls::Full }),
        place,
        port: port.unwrap_or(default),
        database: database(path)?,
        ca: None,
        pooler: false,
    })
}

impl Place {
    /// Whether what is sent stays on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Host(host) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

fn split_port(host: &str) -> Result<(&str, Option<u16>), UrlFault> {
    if host.contains(',') {
        return Err(UrlFault::SeveralHosts);
    }
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or(UrlFault::BadHost)?;
        return match port {
            "" => Ok((address, None)),
            port => Ok((address, Some(number(port.strip_prefix(':').ok_or(UrlFault::BadPort)?)?))),
        };
    }
    match host.split_once(':') {
        None => Ok((host, None)),
        Some((host, port)) => Ok((host, Some(number(port)?))),
    }
}

fn number(port: &str) -> Result<u16, UrlFault> {
    port.parse().ok().filter(|port| *port != 0).ok_or(UrlFault::BadPort)
}

fn host_name(host: &str) -> Result<String, UrlFault> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    if host.bytes().all(known) { Ok(host.to_ascii_lowercase()) } else { Err(UrlFault::BadHost) }
}

fn database(path: &str) -> Result<String, UrlFault> {
    let name = decode(path.strip_prefix('/').unwrap_or(path))?;
    match name.as_str() {
        "" => Err(UrlFault::NoDatabase),
        // More likely the rest of a password with a slash in it.
        name if name.contains(['/', '@', '#', '\0']) => Err(UrlFault::BadDatabase),
        _ => Ok(name),
    }
}

fn parameters(query: &str) -> Result<Parameters, UrlFault> {
    let mut found = Parameters::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or(UrlFault::UnknownParameter)?;
        let value = decode(value)?;
        match key {
            "sslmode" | "ssl-mode" => found.tls = Some(tls(&value)?),
            "host" | "socket" => found.socket = Some(socket(&value)?),
            _ => return Err(UrlFault::UnknownParameter),
        }
    }
    Ok(found)
}

/// The words of PostgreSQL and those of MySQL. What tries TLS and goes on without it (`prefer`) protects nothing.
fn tls(word: &str) -> Result<Tls, UrlFault> {
    match word.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" => Ok(Tls::Off),
        "require" | "required" => Ok(Tls::Unverified),
        "verify-ca" => Ok(Tls::Ca),
        "verify-full" | "verify-identity" => Ok(Tls::Full),
        _ => Err(UrlFault::UnknownTls),
    }
}

fn socket(path: &str) -> Result<PathBuf, UrlFault> {
    if path.starts_with('/') && !path.contains('\0') { Ok(path.into()) } else { Err(UrlFault::BadSocket) }
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String, UrlFault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or(UrlFault::BadEncoding)?);
    }
    String::from_utf8(bytes).map_err(|_| UrlFault::BadEncoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<Server, UrlFault> {
        parse(rest, Dialect::Postgres)
    }

    #[test]
    fn every_part_is_understood() {
        let server = read("//gate%40way:p%3Aw%2Fd%25@DB.example.net:6432/cred%20gate").unwrap();
        assert_eq!((server.user.as_str(), server.password.as_str()), ("gate@way", "p:w/d%"));
        assert_eq!((server.place, server.port), (Place::Host("db.example.net".into()), 6432));
        assert_eq!((server.database.as_str(), server.tls), ("cred gate", Tls::Full));
        let server = read("//u:a:b@c@[2001:db8::1]/d").unwrap();
        assert_eq!((server.password.as_str(), server.place), ("a:b@c", Place::Host("2001:db8::1".into())));
        for socket in ["//u@%2Frun%2Fpg/d", "//u@/d?host=/run/pg", "//u@/d?socket=%2Frun%2Fpg"] {
            assert_eq!(read(socket).unwrap().place, Place::Socket("/run/pg".into()), "{socket}");
        }
    }

    #[test]
    fn tls_is_the_rule_and_the_url_may_say_otherwise() {
        for (url, wanted) in [
            ("//u@db/d", Tls::Full),
            ("//u@10.0.0.1/d", Tls::Full),
            ("//u@127.0.0.9/d", Tls::Off),
            ("//u@[::1]/d", Tls::Off),
            ("//u@localhost/d", Tls::Off),
            ("//u@/d?host=/run", Tls::Off),
            ("//u@localhost/d?sslmode=verify-full", Tls::Full),
            ("//u@db/d?ssl-mode=DISABLED", Tls::Off),
            ("//u@db/d?sslmode=require", Tls::Unverified),
            ("//u@db/d?ssl-mode=VERIFY_CA", Tls::Ca),
        ] {
            assert_eq!(read(url).unwrap().tls, wanted, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_value() {
        for (url, fault) in [
            ("u:p@h/d", UrlFault::NoSlashes),
            ("//h/d", UrlFault::NoUser),
            ("//:p@h/d", UrlFault::NoUser),
            ("//u:pa/ss@h/d", UrlFault::NoUser),
            ("//u:pa#ss@h/d", UrlFault::NoUser),
            ("//u:p@/d", UrlFault::NoHost),
            ("//u:p@h", UrlFault::NoDatabase),
            ("//u:p@h/d/e", UrlFault::BadDatabase),
            ("//u:p@h:port/d", UrlFault::BadPort),
            ("//u:p@h:0/d", UrlFault::BadPort),
            ("//u:p@h:65536/d", UrlFault::BadPort),
            ("//u:p@h1,h2/d", UrlFault::SeveralHosts),
            ("//u:p@h h/d", UrlFault::BadHost),
            ("//u:p@[::1/d", UrlFault::BadHost),
            ("//u:p%zz@h/d", UrlFault::BadEncoding),
            ("//u:%ff@h/d", UrlFault::BadEncoding),
            ("//u:p@h/d?sslmode=prefer", UrlFault::UnknownTls),
            ("//u:p@h/d?password=x", UrlFault::UnknownParameter),
            ("//u:p@h/d?canary", UrlFault::UnknownParameter),
            ("//u:p@h/d?host=/run", UrlFault::HostAndSocket),
            ("//u:p@/d?host=run", UrlFault::BadSocket),
        ] {
            match read(url) {
                Err(found) => assert_eq!(found, fault, "{url}"),
                Ok(_) => panic!("{url} was understood"),
            }
        }
    }
}
