//! The databases without a gateway: the same prepared statement in a bare loop, with as many connections, on the core that
//! the gateway would have.

use std::{
    thread,
    time::{Duration, Instant},
};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
};
use futures::future::join_all;
use rustix::time::ClockId;
use sqlx::{MySqlPool, PgPool, mysql::MySqlPoolOptions, postgres::PgPoolOptions};

use crate::{cores, measure};

/// Where the statement runs.
pub struct Bare {
    kind: Kind,
    url: String,
    connections: u32,
}

/// What a loop has shown.
pub struct Done {
    pub elapsed: Duration,
    pub processor_time: Duration,
    /// Sorted.
    pub times: Vec<Duration>,
}

enum Pool {
    Postgres(PgPool),
    MariaDb(MySqlPool),
}

impl Bare {
    pub fn new(database: &Database, connections: usize) -> Self {
        let url = database.url(READER, &database.address().to_string());
        Self { kind: database.kind, url, connections: u32::try_from(connections).unwrap() }
    }

    /// So many loops for so long, each answer compared.
    pub fn run(&self, deployment: &Deployment, outstanding: usize, duration: Duration) -> Done {
        let nodes: Vec<_> = deployment.nodes.iter().collect();
        thread::scope(|scope| {
            let work = scope.spawn(|| {
                cores::pin_server();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(self.loops(&nodes, outstanding, duration))
            });
            work.join().unwrap()
        })
    }

    async fn loops(&self, nodes: &[(&str, &str)], outstanding: usize, duration: Duration) -> Done {
        let pool = self.open().await;
        let (began, before) = (Instant::now(), measure::own(ClockId::ThreadCPUTime));
        let loops = (0..outstanding).map(|first| {
            let pool = &pool;
            async move {
                let mut times = Vec::new();
                // A stride that has no divisor in common with the counts.
                let mut index = first * 104_729 % nodes.len();
                while began.elapsed() < duration {
                    index = (index + 7919) % nodes.len();
                    let (node, password) = nodes[index];
                    let asked = Instant::now();
                    assert_eq!(pool.ask(node).await, password, "node {node}");
                    times.push(asked.elapsed());
                }
                times
            }
        });
        let mut times: Vec<_> = join_all(loops).await.into_iter().flatten().collect();
        let elapsed = began.elapsed();
        let processor_time = measure::own(ClockId::ThreadCPUTime) - before;
        times.sort_unstable();
        Done { elapsed, processor_time, times }
    }

    async fn open(&self) -> Pool {
        match self.kind {
            Kind::Postgres => {
                let pool = PgPoolOptions::new().max_connections(self.connections).test_before_acquire(false);
                Pool::Postgres(pool.connect(&self.url).await.unwrap())
            }
            Kind::MariaDb => {
                let pool = MySqlPoolOptions::new().max_connections(self.connections).test_before_acquire(false);
                Pool::MariaDb(pool.connect(&self.url).await.unwrap())
            }
        }
    }
}

impl Pool {
    async fn ask(&self, node: &str) -> String {
        match self {
            Self::Postgres(pool) => {
                let sql = "SELECT node_id, password, enabled::text FROM credgate_nodes WHERE node_id = $1";
                let row: (String, String, String) = sqlx::query_as(sql).bind(node).fetch_one(pool).await.unwrap();
                row.1
            }
            Self::MariaDb(pool) => {
                let sql = "SELECT CAST(password AS CHAR) FROM credgate_nodes WHERE node_id = ?";
                sqlx::query_scalar(sql).bind(node).fetch_one(pool).await.unwrap()
            }
        }
    }
}
