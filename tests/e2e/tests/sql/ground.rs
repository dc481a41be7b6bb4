//! A deployment whose nodes stand in a database.

use std::time::Duration;

pub use credgate_support::{database::Kind, proxy::Proxy};
use credgate_support::{
    database::{Database, READER},
    deployment::Deployment,
    grpc::Client,
    process::{Finished, Gateway, Process},
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(60);

pub const UNAVAILABLE: [&str; 2] = ["UNAVAILABLE BACKEND_UNAVAILABLE", "UNAVAILABLE BACKEND_TIMEOUT"];

/// Ten nodes in credgate's own schema, reached through a proxy by the role that may only read.
pub struct Ground {
    pub database: Database,
    pub proxy: Proxy,
    pub deployment: Deployment,
}

impl Ground {
    pub fn new(kind: Kind) -> Self {
        let database = Database::start(kind);
        let proxy = Proxy::to(database.address());
        let deployment = deployment(&database.url(READER, &proxy.address().to_string()))
            .with_file("owner.url", database.owner_url());
        let ground = Self { database, proxy, deployment };
        let nodes = ground.deployment.path("nodes.csv").to_str().unwrap().to_owned();
        ground.run(&["migrate", "--url-file", &ground.owner()]);
        ground.run(&["import", &nodes, "--url-file", &ground.owner()]);
        ground
    }

    /// The file with the URL of the role that owns the tables.
    pub fn owner(&self) -> String {
        self.deployment.path("owner.url").to_str().unwrap().to_owned()
    }

    /// Runs a command of the gateway that must end well; what it printed.
    pub fn run(&self, args: &[&str]) -> String {
        let done = run(&self.deployment, args);
        assert_eq!(done.exit.code, Some(0), "{args:?}: {}", done.stderr);
        done.stdout
    }

    pub async fn client(&self, gateway: &Gateway) -> Client {
        Client::open(&self.deployment, gateway.lookup, &self.deployment.registrar).await
    }

    pub fn password(&self) -> &str {
        self.deployment.nodes.password("2000")
    }

    /// Asks until the answer is right; nothing but "unavailable" may be told on the way.
    pub async fn recovers(&self, client: &Client) {
        let end = std::time::Instant::now() + BOUND;
        loop {
            match client.lookup("2000").await {
                Ok(password) => return assert_eq!(password, self.password()),
                Err(ending) => assert!(UNAVAILABLE.contains(&ending.as_str()), "{ending}"),
            }
            assert!(std::time::Instant::now() < end, "it does not recover");
        }
    }
}

/// A deployment with this URL, quick to notice things.
pub fn deployment(url: &str) -> Deployment {
    Deployment::mtls()
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .set("provider.sql.url", url)
        .set("health.interval", "500ms")
        .set("lookup.timeout", "1s")
}

pub fn run(deployment: &Deployment, args: &[&str]) -> Finished {
    Process::run(deployment.command(args), BOUND)
}

/// A test for each kind of server.
macro_rules! for_each_kind {
    ($($name:ident),* $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::ground::Kind::Postgres).await;
            })*
        }
        mod mariadb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::ground::Kind::MariaDb).await;
            })*
        }
    };
}
pub(crate) use for_each_kind;
