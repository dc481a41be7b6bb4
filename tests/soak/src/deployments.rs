//! Deployments of a size, on each store.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use credgate_support::{deployment::Deployment, process::Process};

/// Which store a deployment answers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Csv,
    Sqlite,
}

impl Store {
    pub const ALL: [Self; 2] = [Self::Csv, Self::Sqlite];

    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Sqlite => "sqlite",
        }
    }
}

/// A deployment of `count` nodes, and how long its import took where there was one.
pub fn deployment(store: Store, count: usize) -> (Deployment, Option<Duration>) {
    let deployment = Deployment::mtls().with_nodes(count);
    match store {
        Store::Csv => (deployment, None),
        Store::Sqlite => {
            let deployment = deployment
                .remove("provider.csv")
                .set("provider.kind", "sql")
                .merge("[provider.sql]\nurl = 'sqlite:nodes.db'");
            run(deployment.command(["migrate"]));
            let began = Instant::now();
            run(deployment.command(["import", deployment.path("nodes.csv").to_str().unwrap()]));
            (deployment, Some(began.elapsed()))
        }
    }
}

fn run(command: Command) {
    let finished = Process::run(command, Duration::from_secs(300));
    assert_eq!(finished.exit.code, Some(0), "{finished:?}");
}
