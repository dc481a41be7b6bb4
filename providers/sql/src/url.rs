//! Which database a URL names. Decides the dialect and, for SQLite, the file. A URL may hold a password, a malformed one
//! as well, so nothing here ever shows any part of what was given, except an SQLite path that was understood.

use std::{
    fmt,
    path::{self, Path, PathBuf},
};

use credgate_files::read_secret;
use credgate_provider::Report;

/// The kinds of database that this build can talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// One file, read in this process.
    Sqlite,
}

/// A database whose URL was understood.
#[derive(Clone)]
pub struct Database(Location);

#[derive(Clone)]
pub(crate) enum Location {
    Sqlite(PathBuf),
}

/// Why a URL was not understood. Says nothing about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlFault {
    #[error("is not a database URL; expected \"sqlite:nodes.db\", with the path relative to this file")]
    NoScheme,
    #[error("names a kind of database that is not known; known are sqlite:, postgres: and mysql:")]
    UnknownScheme,
    #[error(
        "names a server, and this build talks to SQLite files only (sqlite:nodes.db); postgres: and mysql: come later"
    )]
    NotInThisBuild,
    #[error("names no file; expected \"sqlite:nodes.db\"")]
    NoFile,
    #[error("names an in-memory database, which is empty at every start; name a file")]
    InMemory,
    #[error("takes no parameters after a \"?\": serve opens the file read-only, and everything else is derived")]
    Parameters,
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
        }
    }

    pub(crate) fn parse(url: &str, base: &Path) -> Result<Self, UrlFault> {
        let (scheme, rest) = url.split_once(':').ok_or(UrlFault::NoScheme)?;
        match scheme.to_ascii_lowercase().as_str() {
            "sqlite" => {}
            "postgres" | "postgresql" | "mysql" | "mariadb" => return Err(UrlFault::NotInThisBuild),
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
            ("postgres://u:p@h/d", UrlFault::NotInThisBuild),
            ("mysql://u:p@h/d", UrlFault::NotInThisBuild),
            ("sqlite:", UrlFault::NoFile),
            ("sqlite:data/", UrlFault::NoFile),
            ("sqlite::memory:", UrlFault::InMemory),
            ("sqlite://nodes.db?mode=rwc", UrlFault::Parameters),
        ] {
            assert_eq!(parse(url).unwrap_err(), fault, "{url}");
        }
    }
}
