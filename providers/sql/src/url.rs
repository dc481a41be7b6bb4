//! Which database a URL names. Decides the dialect and, for SQLite, the file. A URL may hold a password, a malformed one
//! as well, so nothing here ever shows any part of what was given, except an SQLite path that was understood.

mod server;

use std::{
    fmt,
    path::{self, Path, PathBuf},
    sync::Arc,
};

use credgate_files::read_secret;
use credgate_provider::Report;

pub(crate) use server::{Place, Server, Tls};

/// The kinds of database that this build can talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// One file, read in this process.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
    /// A MySQL or MariaDB server.
    MySql,
}

/// A database whose URL was understood.
#[derive(Clone)]
pub struct Database(Location);

#[derive(Clone)]
pub(crate) enum Location {
    Sqlite(PathBuf),
    Postgres(Server),
    MySql(Server),
}

/// Why a URL was not understood. Says nothing about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlFault {
    #[error("is not a database URL; expected \"sqlite:nodes.db\", with the path relative to this file")]
    NoScheme,
    #[error("names a kind of database that is not known; known are sqlite:, postgres: and mysql:")]
    UnknownScheme,
    #[error("names no file; expected \"sqlite:nodes.db\"")]
    NoFile,
    #[error("names an in-memory database, which is empty at every start; name a file")]
    InMemory,
    #[error("takes no parameters after a \"?\": serve opens the file read-only, and everything else is derived")]
    Parameters,
    #[error("lacks the // after the scheme; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    NoSlashes,
    #[error(
        "names no user before an @; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, where / ? # in user name or \
         password are written %2F %3F %23"
    )]
    NoUser,
    #[error("names no host after the @, and no socket (?host=/FOLDER or ?socket=/FILE)")]
    NoHost,
    #[error("names a host and a socket; name one of them")]
    HostAndSocket,
    #[error("has a host name with a character that no host name has; an IPv6 address stands in brackets")]
    BadHost,
    #[error("names several hosts, and takes one: failover is a matter of DNS, a virtual address or a pooler")]
    SeveralHosts,
    #[error("has a port that is not a number from 1 to 65535")]
    BadPort,
    #[error("names no database after the host; expected …@HOST:PORT/DATABASE")]
    NoDatabase,
    #[error("has a database name with a / @ or # in it; in user name, password and database write %2F %40 %23")]
    BadDatabase,
    #[error("names a socket by a path that does not begin with /")]
    BadSocket,
    #[error("has a % that two hexadecimal digits do not follow, or that encodes no text; write a % itself as %25")]
    BadEncoding,
    #[error("has a parameter after its ? that is not known; known are sslmode=, host= and socket=")]
    UnknownParameter,
    #[error("has a TLS mode that is not known; known are sslmode=disable, require, verify-ca, verify-full")]
    UnknownTls,
}

impl Database {
    /// Reads a URL from a file that holds nothing else, such as that of an owner role for `credgate migrate`. What is
    /// wrong becomes a problem at `place`; relative SQLite paths start at `base`.
    pub fn from_file(place: impl fmt::Display, file: &Path, base: &Path, report: &Report) -> Option<Self> {
        let secret = report.file(&place, read_secret(file))?;
        report.loaded_secret(&place, secret.loaded().clone());
        match Self::parse(secret.expose(), base) {
            Ok(database) => Some(database),
            Err(fault) => {
                report.problem(&place, format!("{}: the URL in it {fault}", file.display()));
                None
            }
        }
    }

    /// What kind of database it is.
    pub fn dialect(&self) -> Dialect {
        match self.0 {
            Location::Sqlite(_) => Dialect::Sqlite,
            Location::Postgres(_) => Dialect::Postgres,
            Location::MySql(_) => Dialect::MySql,
        }
    }

    pub(crate) fn parse(url: &str, base: &Path) -> Result<Self, UrlFault> {
        let (scheme, rest) = url.split_once(':').ok_or(UrlFault::NoScheme)?;
        match scheme.to_ascii_lowercase().as_str() {
            "sqlite" => {}
            "postgres" | "postgresql" => {
                return server::parse(rest, Dialect::Postgres).map(Location::Postgres).map(Self);
            }
            "mysql" | "mariadb" => return server::parse(rest, Dialect::MySql).map(Location::MySql).map(Self),
            _ => return Err(UrlFault::UnknownScheme),
        }
        let file = rest.strip_prefix("//").unwrap_or(rest);
        if file.starts_with(":memory:") {
            return Err(UrlFault::InMemory);
        }
        if file.contains('?') {
            return Err(UrlFault::Parameters);
        }
        if file.is_empty() || file.ends_with('/') || file.contains('\0') {
            return Err(UrlFault::NoFile);
        }
        // Absolute, so that no later change of directory moves it and SQLite cannot take it for a `file:` URI.
        let file = path::absolute(base.join(file)).map_err(|_| UrlFault::NoFile)?;
        Ok(Self(Location::Sqlite(file)))
    }

    /// The same database, reached with what else the settings say.
    pub(crate) fn reached(mut self, ca: Option<&Arc<[u8]>>, pooler: bool) -> Self {
        if let Location::Postgres(server) | Location::MySql(server) = &mut self.0 {
            server.ca = ca.cloned();
            server.pooler = pooler;
        }
        self
    }

    pub(crate) fn location(&self) -> &Location {
        &self.0
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.dialect()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<PathBuf, UrlFault> {
        Database::parse(url, Path::new("/etc/credgate")).map(|database| match database.0 {
            Location::Sqlite(path) => path,
            _ => panic!("a server"),
        })
    }

    #[test]
    fn a_path_is_relative_to_the_configuration() {
        for (url, path) in [
            ("sqlite:nodes.db", "/etc/credgate/nodes.db"),
            ("sqlite://nodes.db", "/etc/credgate/nodes.db"),
            ("SQLite:data/nodes.db", "/etc/credgate/data/nodes.db"),
            ("sqlite:/var/lib/nodes.db", "/var/lib/nodes.db"),
            ("sqlite:///var/lib/nodes.db", "/var/lib/nodes.db"),
            ("sqlite:100%20.db", "/etc/credgate/100%20.db"),
        ] {
            assert_eq!(parse(url).unwrap(), Path::new(path), "{url}");
        }
    }

    #[test]
    fn anything_else_has_its_own_sentence() {
        for (url, fault) in [
            ("nodes.db", UrlFault::NoScheme),
            ("", UrlFault::NoScheme),
            ("oracle://u:p@h/d", UrlFault::UnknownScheme),
            (":nodes.db", UrlFault::UnknownScheme),
            ("postgres:u:p@h/d", UrlFault::NoSlashes),
            ("mariadb://h/d", UrlFault::NoUser),
            ("sqlite:", UrlFault::NoFile),
            ("sqlite:data/", UrlFault::NoFile),
            ("sqlite::memory:", UrlFault::InMemory),
            ("sqlite://nodes.db?mode=rwc", UrlFault::Parameters),
        ] {
            assert_eq!(parse(url).unwrap_err(), fault, "{url}");
        }
    }
}
