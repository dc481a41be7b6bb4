//! Throwaway database servers from the Debian packages, run by an unprivileged user in a folder of their own.
//!
//! Each has a database `credgate`, a role that owns it and one that may only read, and whatever can happen to a server:
//! it is stopped, killed, frozen, and its connections are ended. Made from a template that is built once, so that a start
//! takes a moment. Everything is gone when the value is dropped.
//!
//! ```no_run
//! use credgate_support::database::{Database, Kind};
//! let database = Database::start(Kind::Postgres);
//! database.sql("CREATE TABLE nodes (node_id text, password text)");
//! println!("{}", database.reader_url());
//! ```

mod disturbance;
mod mariadb;
mod postgres;
mod template;
mod user;

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Command,
    sync::Mutex,
    time::Duration,
};

use tempfile::TempDir;
pub(crate) use user::{command, write};

use crate::process::{Process, Signal};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, which stands for MySQL too.
    MariaDb,
}

/// A running server.
#[derive(Debug)]
pub struct Database {
    /// Which.
    pub kind: Kind,
    dir: TempDir,
    port: u16,
    settings: Vec<String>,
    /// Password of both roles: letters and digits.
    pub password: String,
    process: Mutex<Option<Process>>,
}

/// The role that owns the tables.
pub const OWNER: &str = "credgate_owner";
/// The role that may only read, as `serve` has it.
pub const READER: &str = "credgate_reader";

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Postgres, Self::MariaDb];

    /// As the URL's scheme says it.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mysql",
        }
    }

    /// The parameter of a query.
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Postgres => "$1",
            Self::MariaDb => "?",
        }
    }
}

impl Database {
    /// A fresh server.
    pub fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[])
    }

    /// A fresh server with more settings, as `name=value`.
    pub fn start_with(kind: Kind, settings: &[&str]) -> Self {
        let dir = user::folder("credgate-database-");
        template::copy(kind, &dir.path().join("data"));
        let database = Self {
            kind,
            dir,
            port: free_port(),
            settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
            password: random(),
            process: Mutex::new(None),
        };
        database.start_again();
        match kind {
            Kind::Postgres => postgres::make_roles(&database),
            Kind::MariaDb => mariadb::make_roles(&database),
        }
        database
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// URL of the role that may only read.
    pub fn reader_url(&self) -> String {
        self.url(READER, &self.address().to_string())
    }

    /// URL of the role that owns the tables.
    pub fn owner_url(&self) -> String {
        self.url(OWNER, &self.address().to_string())
    }

    /// URL of a role at another address: that of a proxy.
    pub fn url(&self, role: &str, at: &str) -> String {
        format!("{}://{role}:{}@{at}/credgate", self.kind.scheme(), self.password)
    }

    /// The URL of the role that may only read, over the server's socket.
    pub fn socket_url(&self) -> String {
        let (scheme, password, dir) = (self.kind.scheme(), &self.password, self.dir.path().display());
        match self.kind {
            Kind::Postgres => format!("{scheme}://{READER}:{password}@:{}/credgate?host={dir}", self.port),
            Kind::MariaDb => format!("{scheme}://{READER}:{password}@/credgate?socket={dir}/socket"),
        }
    }

    /// The folder of its socket and the port in the socket's name: `PGHOST` and `PGPORT` for an administrator.
    pub fn socket(&self) -> (&Path, u16) {
        (self.dir.path(), self.port)
    }

    /// Runs SQL as the administrator; the rows, columns separated by tabs.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        self.sql_in("credgate", sql)
    }

    #[track_caller]
    fn sql_in(&self, database: &str, sql: &str) -> String {
        let mut command = self.client(database);
        command.arg(sql);
        let done = Process::run(command, PATIENCE);
        assert_eq!(done.exit.code, Some(0), "{sql}: {}", done.stderr);
        done.stdout
    }

    /// A client of the administrator that takes SQL as its next argument.
    pub fn client(&self, database: &str) -> Command {
        match self.kind {
            Kind::Postgres => postgres::client(self.dir.path(), self.port, database),
            Kind::MariaDb => mariadb::client(self.dir.path(), database),
        }
    }

    fn folder(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(process) = self.process.get_mut().ok().and_then(Option::take) else { return };
        self.signal_all(&process, Signal::CONT);
        process.signal(match self.kind {
            // Leaves no shared memory behind.
            Kind::Postgres => Signal::QUIT,
            Kind::MariaDb => Signal::KILL,
        });
        if !std::thread::panicking() {
            process.wait(PATIENCE);
        }
    }
}

/// Files in a folder that only the servers' user can read.
pub fn files(files: &[(&str, &[u8])]) -> TempDir {
    let dir = user::folder("credgate-files-");
    files.iter().for_each(|(name, content)| write(&dir.path().join(name), content));
    dir
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// 32 hexadecimal digits.
pub(crate) fn random() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How long a server may take to start or stop: generous, for machines that compile meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
