//! A server, and the gateway's side of the contract.

use std::{path::Path, time::Duration};

use credgate_provider::{
    Deadline, Kind as _, NodeId, NodeIdRule, OpenError, PasswordRule, Prepared, Provider, ProviderError, Report, Site,
    Slot, settings::Document,
};
use credgate_sql::{Database, SqlKind};
use credgate_support::database;
pub use credgate_support::database::Kind;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// `lookup.timeout` of these tests.
pub const TIMEOUT: Duration = Duration::from_secs(2);

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

    /// With credgate's own schema.
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
        let file = self.folder().join("credgate.toml");
        let document = Document::parse(&file, &format!("[provider.sql]\n{settings}"), &report);
        let root = document.root(&report);
        let section = root.section("provider").section("sql");
        let database = SqlKind.own_schema(&section, None, self.folder(), &report);
        database.filter(|_| report.is_clean()).ok_or_else(|| texts(&report))
    }

    /// Opens with what `settings` add to the reader's URL.
    pub async fn try_open(&self, settings: &str) -> Result<Box<dyn Provider>, String> {
        self.try_open_at(&self.database.reader_url(), settings).await
    }

    pub async fn try_open_at(&self, url: &str, settings: &str) -> Result<Box<dyn Provider>, String> {
        let prepared = prepare(site(self.folder(), TIMEOUT), &format!("url = '{url}'\n{settings}"));
        open(prepared.map_err(|problems| problems.join("; "))?).await
    }

    pub async fn open(&self, settings: &str) -> Box<dyn Provider> {
        self.try_open(settings).await.unwrap()
    }

    /// Opens through an address, with another `lookup.timeout`.
    pub async fn open_through(&self, at: std::net::SocketAddr, settings: &str, timeout: Duration) -> Box<dyn Provider> {
        let url = self.database.url(database::READER, &at.to_string());
        let prepared = prepare(site(self.folder(), timeout), &format!("url = '{url}'\n{settings}")).unwrap();
        open(prepared).await.unwrap()
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

async fn open(prepared: Box<dyn Prepared>) -> Result<Box<dyn Provider>, String> {
    match prepared.open(Deadline::after(BOUND)).await {
        Ok(provider) => Ok(provider),
        Err(OpenError::Unavailable(detail)) => Err(detail.to_string()),
        Err(OpenError::Configuration(problem)) => panic!("{problem}"),
    }
}

pub fn site(base: &Path, lookup_timeout: Duration) -> Site {
    Site {
        base: base.to_owned(),
        node_ids: NodeIdRule::default(),
        passwords: PasswordRule::default(),
        lookup_timeout,
        lookup_slots: None,
    }
}

pub fn prepare(site: Site, settings: &str) -> Result<Box<dyn Prepared>, Vec<String>> {
    let report = Report::default();
    let file = site.base.join("credgate.toml");
    let document = Document::parse(&file, &format!("[provider.sql]\n{settings}"), &report);
    let root = document.root(&report);
    let prepared = SqlKind.prepare(&root.section("provider").section("sql"), &site, &report);
    prepared.filter(|_| report.is_clean()).ok_or_else(|| texts(&report))
}

fn texts(report: &Report) -> Vec<String> {
    report.problems().iter().map(ToString::to_string).collect()
}

pub fn node(text: &str) -> NodeId {
    NodeIdRule { grammar: credgate_provider::Grammar::Token, max_length: 64 }.parse(text).unwrap()
}

/// The password, or nothing, or the error, as a text that can be compared.
pub async fn get(provider: &dyn Provider, text: &str) -> String {
    get_within(provider, text, TIMEOUT).await
}

pub async fn get_within(provider: &dyn Provider, text: &str, timeout: Duration) -> String {
    match provider.lookup(&node(text), Deadline::after(timeout), Slot::new(())).await {
        Ok(Some(password)) => password.expose().to_owned(),
        Ok(None) => "no such node".to_owned(),
        Err(error) => error.to_string(),
    }
}

pub async fn check(provider: &dyn Provider) -> Result<(), ProviderError> {
    provider.check(Deadline::after(TIMEOUT)).await
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
