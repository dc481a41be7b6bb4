//! A gateway whose nodes stand on a throwaway server, reached through a proxy; and what the server has left of it.

use std::{path::Path, time::Duration};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
    process::Process,
    proxy::Proxy,
};

pub const CONNECTIONS: usize = 16;
/// How long a fault lasts, where it has no time of its own.
pub const FAULT: Duration = Duration::from_secs(10);
/// Whatever was given up has ended by then, or never will.
pub const GIVEN_UP: Duration = Duration::from_secs(4);

pub struct Ground {
    pub database: Database,
    pub proxy: Proxy,
    pub deployment: Deployment,
}

impl Ground {
    pub fn new(kind: Kind) -> Self {
        Self::on(Database::start(kind))
    }

    pub fn on(database: Database) -> Self {
        let proxy = Proxy::to(database.address());
        let url = database.url(READER, &proxy.address().to_string());
        let deployment = Deployment::mtls()
            .remove("provider.csv")
            .set("provider.kind", "sql")
            .set("provider.sql.url", url)
            .set("provider.sql.max_connections", i64::try_from(CONNECTIONS).unwrap());
        let ground = Self { database, proxy, deployment };
        ground.fill(&ground.database);
        ground
    }

    /// Another server that takes the place of the first: the same roles and nodes, other content.
    pub fn spare(&self, password: &str) -> Database {
        let spare = Database::start(self.database.kind);
        let of_reader = &self.database.password;
        self.fill(&spare);
        match spare.kind {
            Kind::Postgres => spare.sql(&format!("ALTER ROLE {READER} PASSWORD '{of_reader}'")),
            Kind::MariaDb => spare.sql(&format!(
                "ALTER USER {READER}@'%' IDENTIFIED BY '{of_reader}'; \
                 ALTER USER {READER}@localhost IDENTIFIED BY '{of_reader}'"
            )),
        };
        spare.sql(&format!("UPDATE credgate_nodes SET password = '{password}' WHERE node_id = '2000'"));
        spare
    }

    fn fill(&self, database: &Database) {
        let owner = self.deployment.path("owner.url");
        std::fs::write(&owner, database.owner_url()).unwrap();
        let nodes = self.deployment.path("nodes.csv");
        for args in [vec!["migrate".as_ref()], vec!["import".as_ref(), nodes.as_os_str()]] {
            run(&self.deployment, args, &owner);
        }
    }
}

fn run(deployment: &Deployment, args: Vec<&std::ffi::OsStr>, owner: &Path) {
    let mut command = deployment.command(args);
    command.arg("--url-file").arg(owner);
    let done = Process::run(command, Duration::from_secs(60));
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
}

/// Connections and statements of the gateway on servers that run.
pub fn held(servers: &[&Database]) -> (usize, usize) {
    let sum = |count: fn(&Database) -> usize| servers.iter().map(|server| count(server)).sum();
    (sum(Database::connections), sum(Database::statements))
}

/// Lets a fault last, or its consequences end.
#[expect(clippy::disallowed_methods, reason = "time itself is what is waited for, on a thread where nothing else runs")]
pub fn last(time: Duration) {
    std::thread::sleep(time);
}
