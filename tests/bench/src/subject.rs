//! What is measured: the floors, the gateway on each provider, and the bare statements of the databases.

use std::{net::SocketAddr, process::Command, sync::Arc, time::Duration};

use clap::ValueEnum;
use credgate_load::{Caller, Nodes};
use credgate_support::{
    database::{self, Database},
    deployment::Deployment,
    process::{Gateway, Process, executable},
};
use serde::{Deserialize, Serialize};

use crate::{bare::Bare, cores, measure::MANY, python};

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
pub enum Kind {
    /// Mutual TLS, HTTP/2, a hash map, no checks
    Floor,
    /// The same with a task for each call
    FloorTasks,
    /// The gateway on a CSV file
    Csv,
    /// The gateway on SQLite
    Sqlite,
    /// The gateway on PostgreSQL
    Postgres,
    /// The same prepared statement in a bare loop, with as many connections
    PostgresBare,
    /// The gateway on MariaDB
    Mariadb,
    /// The same prepared statement in a bare loop, with as many connections
    MariadbBare,
    /// The gateway on a plugin of plain functions
    Python,
    /// The gateway on a plugin of async functions
    PythonAsync,
}

/// A server that runs, and how it is asked.
pub struct Subject {
    pub kind: Kind,
    pub nodes: Arc<Nodes>,
    pub deployment: Deployment,
    pub server: Server,
    pub database: Option<Database>,
}

/// What answers.
pub enum Server {
    Floor(Process, SocketAddr),
    Gateway(Box<Gateway>),
    Bare(Bare),
}

impl Kind {
    pub const ALL: [Self; 10] = [
        Self::Floor,
        Self::FloorTasks,
        Self::Csv,
        Self::Sqlite,
        Self::Postgres,
        Self::PostgresBare,
        Self::Mariadb,
        Self::MariadbBare,
        Self::Python,
        Self::PythonAsync,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::FloorTasks => "floor, a task a call",
            Self::Csv => "csv",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::PostgresBare => "postgres, bare statement",
            Self::Mariadb => "mariadb",
            Self::MariadbBare => "mariadb, bare statement",
            Self::Python => "python, plain",
            Self::PythonAsync => "python, async",
        }
    }

    /// Whether nobody asks it over the network.
    pub fn is_bare(self) -> bool {
        matches!(self, Self::PostgresBare | Self::MariadbBare)
    }

    fn database(self) -> Option<database::Kind> {
        match self {
            Self::Postgres | Self::PostgresBare => Some(database::Kind::Postgres),
            Self::Mariadb | Self::MariadbBare => Some(database::Kind::MariaDb),
            _ => None,
        }
    }
}

impl Subject {
    /// Makes its store and starts it on the servers' core.
    pub fn start(kind: Kind, count: usize) -> Self {
        Self::start_as(kind, count, |command| command)
    }

    /// The same with another command that is made of the server's.
    pub fn start_as(kind: Kind, count: usize, change: impl FnOnce(Command) -> Command) -> Self {
        let database = kind.database().map(|kind| cores::on_server(|| Database::start(kind)));
        let deployment = deployment(kind, count, database.as_ref());
        let server = cores::on_server(|| match kind {
            Kind::Floor | Kind::FloorTasks => start_floor(change(floor(&deployment, kind == Kind::FloorTasks))),
            Kind::PostgresBare | Kind::MariadbBare => Server::Bare(Bare::new(database.as_ref().unwrap(), CONNECTIONS)),
            _ => Server::Gateway(Box::new(Gateway::ready(Process::start(change(deployment.command(["serve"])))))),
        });
        let nodes = Arc::new(Nodes::of(&deployment.nodes));
        Self { kind, nodes, deployment, server, database }
    }

    /// Who asks it.
    pub fn caller(&self) -> Caller {
        let address = match &self.server {
            Server::Floor(_, address) => *address,
            Server::Gateway(gateway) => gateway.lookup,
            Server::Bare(_) => unreachable!("nobody asks a bare statement over the network"),
        };
        Caller::of(&self.deployment, address, &self.deployment.registrar)
    }

    /// Processor time of the server itself, user and system.
    pub fn processor_time(&self) -> Duration {
        match &self.server {
            Server::Floor(process, _) => process.usage().cpu,
            Server::Gateway(gateway) => gateway.usage().cpu,
            Server::Bare(_) => Duration::ZERO,
        }
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> Option<u64> {
        match &self.server {
            Server::Floor(process, _) => Some(process.usage().memory),
            Server::Gateway(gateway) => Some(gateway.usage().memory),
            Server::Bare(_) => None,
        }
    }

    /// Processor time of the database.
    pub fn database_time(&self) -> Duration {
        self.database.as_ref().map_or(Duration::ZERO, Database::processor_time)
    }
}

/// Everything that a deployment in earnest has on: mutual TLS, 16 identities, all three limits, a JSON log, metrics.
pub fn deployment(kind: Kind, count: usize, database: Option<&Database>) -> Deployment {
    let mut deployment = Deployment::mtls().with_nodes(count);
    for index in 0..IDENTITIES - 2 {
        deployment.add_identity(&format!("registrar-{index}"), "registrar");
    }
    let limit = "{ per_second = 1000000, burst = 1000000 }";
    let deployment = deployment
        .merge(&format!("[rate]\nglobal = {limit}\nidentity = {limit}\nsource = {limit}"))
        .merge("[metrics]\nlisten = '127.0.0.1:0'")
        .set("lookup.queue", QUEUE);
    match kind {
        Kind::Sqlite => imported(sql(deployment, "sqlite:nodes.db", READERS), &[]),
        Kind::Postgres | Kind::Mariadb | Kind::PostgresBare | Kind::MariadbBare => {
            let database = database.unwrap();
            let deployment =
                sql(deployment, &database.reader_url(), CONNECTIONS).with_file("owner.url", database.owner_url());
            let owner = deployment.path("owner.url");
            imported(deployment, &["--url-file", owner.to_str().unwrap()])
        }
        Kind::Python => python::plugin(deployment, false),
        Kind::PythonAsync => python::plugin(deployment, true),
        Kind::Floor | Kind::FloorTasks | Kind::Csv => deployment,
    }
}

fn sql(deployment: Deployment, url: &str, connections: usize) -> Deployment {
    deployment
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .set("provider.sql.url", url)
        .set("provider.sql.max_connections", i64::try_from(connections).unwrap())
}

fn imported(deployment: Deployment, more: &[&str]) -> Deployment {
    let nodes = deployment.path("nodes.csv");
    for args in [vec!["migrate"], vec!["import", nodes.to_str().unwrap()]] {
        let mut command = deployment.command(args);
        command.args(more);
        let done = Process::run(command, Duration::from_secs(300));
        assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
    }
    deployment
}

fn floor(deployment: &Deployment, tasks: bool) -> Command {
    deployment.write();
    let mut command = executable("credgate-floor");
    for (argument, file) in
        [("--cert", "server.pem"), ("--key", "server.key"), ("--client-ca", "ca.pem"), ("--nodes", "nodes.csv")]
    {
        command.arg(argument).arg(deployment.path(file));
    }
    command.args(tasks.then_some("--tasks"));
    command
}

fn start_floor(command: Command) -> Server {
    let process = Process::start(command);
    let says = process.stdout.wait_for(|line| line.text.starts_with("listening "), Duration::from_secs(60));
    let address = says.text.trim_start_matches("listening ").trim().parse().unwrap();
    Server::Floor(process, address)
}

/// What operators commonly give a pool.
pub const CONNECTIONS: usize = 16;

/// Those of SQLite are threads that start only when they are needed: as many as calls are under way.
const READERS: usize = MANY;

/// A machine that stands still for a moment must not make an open loop's calls be refused: they wait, and it shows.
const QUEUE: i64 = 10_000;

/// So many tokens are compared on every call.
const IDENTITIES: usize = 16;
