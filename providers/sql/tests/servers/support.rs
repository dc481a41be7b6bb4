//! A server with a table in it.

use std::{path::Path, time::Duration};

use credgate_provider::{Prepared, Provider, Report, Site};
use credgate_sql::{Database, SqlKind};
pub use credgate_support::database::Kind;
use credgate_support::{
    database,
    provider::{self, get},
};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// Nothing that is waited for takes longer.
pub const BOUND: Duration = Duration::from_secs(30);

/// How often a fact is looked at that nothing announces.
pub const TICK: Duration = Duration::from_millis(20);

pub struct Server {
    pub database: database::Database,
    dir: TempDir,
}

impl Server {
    pub fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[])
    }

    pub fn start_with(kind: Kind, settings: &[&str]) -> Self {
        Self { database: database::Database::start_with(kind, settings), dir: tempfile::tempdir().unwrap() }
    }

    /// With credgate's own schema, without a node.
    pub async fn migrated(kind: Kind) -> Self {
        let server = Self::start(kind);
        credgate_sql::migrate(&server.owner()).await.unwrap();
        server
    }

    /// With a table of another program, and nodes in it.
    pub fn with_nodes(kind: Kind) -> Self {
        let server = Self::start(kind);
        server.sql("CREATE TABLE nodes (node_id varchar(20) PRIMARY KEY, password varchar(80), enabled varchar(5))");
        server
            .sql("INSERT INTO nodes VALUES ('2000', 'secret', 'yes'), ('0200', 'zero', 'yes'), ('2001', 'off', 'no')");
        server
    }

    pub fn sql(&self, sql: &str) -> String {
        self.database.sql(sql)
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The query for [`Server::with_nodes`].
    pub fn query(&self) -> String {
        let parameter = self.database.kind.parameter();
        format!("query = 'SELECT node_id, password, enabled FROM nodes WHERE node_id = {parameter}'\n")
    }

    /// What the commands of the gateway are given: the role that owns the tables.
    pub fn owner(&self) -> Database {
        self.try_database(&format!("url = '{}'", self.database.owner_url())).unwrap()
    }

    pub fn try_database(&self, settings: &str) -> Result<Database, Vec<String>> {
        let report = Report::default();
        let document = provider::document(&SqlKind, self.folder(), settings, &report);
        let section = document.root(&report).section("provider").section("sql");
        let database = SqlKind.own_schema(&section, None, self.folder(), &report);
        database.filter(|_| report.is_clean()).ok_or_else(|| provider::texts(&report))
    }

    /// The whole of `[provider.sql]`; its problems where it cannot be prepared.
    pub fn prepare(&self, settings: &str) -> Result<Box<dyn Prepared>, Vec<String>> {
        provider::prepare(&SqlKind, provider::site(self.folder()), settings)
    }

    /// Opens with what `settings` add to the reader's URL.
    pub async fn try_open(&self, settings: &str) -> Result<Box<dyn Provider>, String> {
        self.try_open_at(&self.database.reader_url(), settings).await
    }

    pub async fn try_open_at(&self, url: &str, settings: &str) -> Result<Box<dyn Provider>, String> {
        let prepared = self.prepare(&format!("url = '{url}'\n{settings}"));
        provider::open(prepared.map_err(|problems| problems.join("; "))?, provider::OPENING).await
    }

    pub async fn open(&self, settings: &str) -> Box<dyn Provider> {
        self.try_open(settings).await.unwrap()
    }

    /// Opens through an address, with another `lookup.timeout`.
    pub async fn open_through(&self, at: std::net::SocketAddr, settings: &str, timeout: Duration) -> Box<dyn Provider> {
        let url = self.database.url(database::READER, &at.to_string());
        let site = Site { lookup_timeout: timeout, ..provider::site(self.folder()) };
        let prepared = provider::prepare(&SqlKind, site, &format!("url = '{url}'\n{settings}")).unwrap();
        provider::open(prepared, provider::OPENING).await.unwrap()
    }

    /// Waits until the server runs no statement of the gateway's.
    pub async fn quiet(&self, within: Duration) {
        let end = Instant::now() + within;
        while self.database.statements() > 0 {
            assert!(Instant::now() < end, "{} statements still run", self.database.statements());
            sleep(TICK).await;
        }
    }
}

/// Asks until the answer is right; nothing but an outage may be told on the way.
pub async fn recovers(provider: &dyn Provider, text: &str, wanted: &str) {
    let end = Instant::now() + BOUND;
    loop {
        let answer = get(provider, text).await;
        if answer == wanted {
            return;
        }
        assert!(answer.starts_with("backend "), "{answer}");
        assert!(Instant::now() < end, "still {answer}");
        sleep(TICK).await;
    }
}

/// A test for each kind of server.
macro_rules! for_each_kind {
    ($($name:ident),* $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::Kind::Postgres).await;
            })*
        }
        mod mariadb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::Kind::MariaDb).await;
            })*
        }
    };
}
pub(crate) use for_each_kind;
