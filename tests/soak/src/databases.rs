//! Lookups through the gateway beside a bare loop of the same prepared statement, with as many connections, in one run;
//! and how long an import takes.

use std::time::{Duration, Instant};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
    grpc::Client,
    process::Process,
};
use futures::{StreamExt as _, stream};

const NODES: [usize; 2] = [100_000, 1_000_000];
const CONNECTIONS: usize = 16;
const LOOKUPS: usize = 50_000;

pub fn run() {
    println!("{LOOKUPS} lookups, {CONNECTIONS} connections; CPU per lookup, of the gateway and of the server\n");
    println!(
        "| database | nodes | import | p50 | p99 | gateway | server | bare p50 | bare p99 | bare server | ratio p50 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for kind in Kind::ALL {
        for count in NODES {
            let database = Database::start(kind);
            let (deployment, import) = deployment(&database, count);
            let gateway = deployment.start();
            let (cpu, before) = (gateway.usage().cpu, database.processor_time());
            let through = runtime.block_on(through(&deployment, gateway.lookup));
            let (cpu, server) = (gateway.usage().cpu - cpu, database.processor_time() - before);
            let before = database.processor_time();
            let bare = runtime.block_on(bare(&database, &deployment));
            let bare_server = database.processor_time() - before;
            let each = |time: Duration| time.as_micros() / u128::try_from(LOOKUPS).unwrap();
            let ratio = through.0.as_secs_f64() / bare.0.as_secs_f64();
            println!(
                "| {kind:?} | {count} | {:.1} s | {:?} | {:?} | {} us | {} us | {:?} | {:?} | {} us | {ratio:.2} |",
                import.as_secs_f64(),
                through.0,
                through.1,
                each(cpu),
                each(server),
                bare.0,
                bare.1,
                each(bare_server),
            );
        }
    }
}

fn deployment(database: &Database, count: usize) -> (Deployment, Duration) {
    let deployment = Deployment::mtls()
        .with_nodes(count)
        .remove("provider.csv")
        .set("provider.kind", "sql")
        .set("provider.sql.url", database.reader_url())
        .set("provider.sql.max_connections", i64::try_from(CONNECTIONS).unwrap())
        .with_file("owner.url", database.owner_url());
    let (nodes, owner) = (deployment.path("nodes.csv"), deployment.path("owner.url"));
    let mut time = Duration::ZERO;
    for args in [vec!["migrate"], vec!["import", nodes.to_str().unwrap()]] {
        let mut command = deployment.command(args);
        command.arg("--url-file").arg(&owner);
        let began = Instant::now();
        let done = Process::run(command, Duration::from_secs(600));
        assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
        time = began.elapsed();
    }
    (deployment, time)
}

/// Median and 99th of a hundred, every answer right.
async fn through(deployment: &Deployment, address: std::net::SocketAddr) -> (Duration, Duration) {
    let client = Client::open(deployment, address, &deployment.registrar).await;
    measured(deployment, |_, node| {
        let client = &client;
        async move { client.lookup(node).await.unwrap() }
    })
    .await
}

async fn bare(database: &Database, deployment: &Deployment) -> (Duration, Duration) {
    let url = database.url(READER, &database.address().to_string());
    // An enum of pools would be as long as this.
    match database.kind {
        Kind::Postgres => {
            let pool = sqlx::postgres::PgPoolOptions::new().max_connections(16).test_before_acquire(false);
            let pool = pool.connect(&url).await.unwrap();
            measured(deployment, |_, node| {
                let sql = "SELECT password FROM credgate_nodes WHERE node_id = $1";
                let pool = &pool;
                async move { sqlx::query_scalar(sql).bind(node).fetch_one(pool).await.unwrap() }
            })
            .await
        }
        Kind::MariaDb => {
            let pool = sqlx::mysql::MySqlPoolOptions::new().max_connections(16).test_before_acquire(false);
            let pool = pool.connect(&url).await.unwrap();
            measured(deployment, |_, node| {
                let sql = "SELECT CAST(password AS CHAR) FROM credgate_nodes WHERE node_id = ?";
                let pool = &pool;
                async move { sqlx::query_scalar(sql).bind(node).fetch_one(pool).await.unwrap() }
            })
            .await
        }
    }
}

async fn measured<'a, F>(deployment: &'a Deployment, ask: impl Fn(usize, &'a str) -> F) -> (Duration, Duration)
where
    F: Future<Output = String>,
{
    let nodes: Vec<_> = deployment.nodes.iter().collect();
    // A stride that has no divisor in common with the counts.
    let asked = (0..LOOKUPS).map(|index| (index, nodes[index * 7919 % nodes.len()]));
    let mut times: Vec<Duration> = stream::iter(asked)
        .map(|(index, (node, password))| {
            let answer = ask(index, node);
            async move {
                let began = Instant::now();
                assert_eq!(answer.await, password, "node {node}");
                began.elapsed()
            }
        })
        .buffer_unordered(CONNECTIONS)
        .collect()
        .await;
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
