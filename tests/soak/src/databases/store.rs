//! Where the nodes are: a file, or a throwaway server.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
    time::Duration,
};

use credgate_support::{
    database::{Database, Kind},
    deployment::Deployment,
    process::Process,
};

pub enum Store {
    Sqlite,
    Server(Box<Database>),
}

impl Store {
    pub const NAMES: [&str; 3] = ["sqlite", "postgres", "mariadb"];

    pub fn start(name: &str) -> Self {
        match name {
            "postgres" => Self::Server(Box::new(Database::start(Kind::Postgres))),
            "mariadb" => Self::Server(Box::new(Database::start(Kind::MariaDb))),
            _ => Self::Sqlite,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Server(database) if database.kind == Kind::Postgres => "postgres",
            Self::Server(_) => "mariadb",
        }
    }

    pub fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// A deployment whose gateway answers from it.
    pub fn deployment(&self, count: usize, connections: usize) -> Deployment {
        let deployment = Deployment::mtls()
            .with_nodes(count)
            .remove("provider.csv")
            .set("provider.kind", "sql")
            .set("provider.sql.max_connections", i64::try_from(connections).unwrap());
        match self {
            Self::Sqlite => deployment.set("provider.sql.url", "sqlite:nodes.db"),
            Self::Server(database) => {
                deployment.set("provider.sql.url", database.reader_url()).with_file("owner.url", database.owner_url())
            }
        }
    }

    /// A command of the gateway's, as the role that owns the tables.
    pub fn command(&self, deployment: &Deployment, args: &[&OsStr]) -> Command {
        let mut command = deployment.command(args);
        if self.is_server() {
            command.arg("--url-file").arg(deployment.path("owner.url"));
        }
        command
    }

    pub fn run(&self, deployment: &Deployment, args: &[&OsStr], bound: Duration) {
        let done = Process::run(self.command(deployment, args), bound);
        assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
    }

    /// Rows in the table, and those of node 2000 with this password.
    pub fn count(&self, deployment: &Deployment, password: &str) -> (usize, usize) {
        let number = |sql: &str| self.sql(deployment, sql).trim().parse().unwrap();
        let with = format!("SELECT count(*) FROM credgate_nodes WHERE node_id = '2000' AND password = '{password}'");
        (number("SELECT count(*) FROM credgate_nodes"), number(&with))
    }

    fn sql(&self, deployment: &Deployment, sql: &str) -> String {
        match self {
            Self::Server(database) => database.sql(sql),
            Self::Sqlite => {
                let mut command = Command::new("sqlite3");
                command.arg(deployment.path("nodes.db")).arg(sql).stdin(Stdio::null());
                let done = Process::run(command, Duration::from_secs(60));
                assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
                done.stdout
            }
        }
    }

    pub fn processor_time(&self) -> Duration {
        match self {
            Self::Sqlite => Duration::ZERO,
            Self::Server(database) => database.processor_time(),
        }
    }
}
