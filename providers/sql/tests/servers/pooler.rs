//! PostgreSQL behind pgbouncer in transaction mode.

use std::time::Duration;

use credgate_support::pgbouncer::Pgbouncer;
use credgate_support::provider::{TIMEOUT, check, get, get_within};
use futures::future::join_all;

use crate::support::{BOUND, Kind, Server, recovers};

/// Two server connections for eight of ours: transactions of all of them are mixed on each.
const SIZE: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_many_connections() {
    let server = Server::with_nodes(Kind::Postgres);
    let pgbouncer = Pgbouncer::before(&server.database, SIZE);
    let settings = format!("{}pooler = true\nmax_connections = 8", server.query());
    let provider = server.open_through(pgbouncer.address(), &settings, TIMEOUT).await;
    check(&*provider).await.unwrap();
    for _ in 0..10 {
        let nodes = ["2000", "0200", "2001", "200"].repeat(5);
        let answers = join_all(nodes.iter().map(|node| get(&*provider, node))).await;
        for (node, answer) in nodes.iter().zip(answers) {
            let wanted = match *node {
                "2000" => "secret",
                "0200" => "zero",
                _ => "no such node",
            };
            assert_eq!(answer, wanted, "{node}");
        }
    }
    assert!(server.database.connections() <= SIZE);
    assert_eq!(server.sql("SELECT count(*) FROM pg_prepared_statements"), "0\n");
    // A restart of the server behind it, and of the pooler's connections.
    tokio::task::block_in_place(|| server.database.restart());
    recovers(&*provider, "2000", "secret").await;
    check(&*provider).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_schema_and_mistakes_behind_it() {
    let server = Server::migrated(Kind::Postgres).await;
    server.sql("INSERT INTO credgate_nodes VALUES ('2000', 'secret', true)");
    let pgbouncer = Pgbouncer::before(&server.database, SIZE);
    let provider = server.open_through(pgbouncer.address(), "pooler = true", TIMEOUT).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    check(&*provider).await.unwrap();
    let url = server.database.url(credgate_support::database::READER, &pgbouncer.address().to_string());
    for (settings, wanted) in [
        ("", "provider.sql.pooler = true"),
        ("pooler = true\nquery = 'SELECT node_id FROM credgate_nodes WHERE node_id = $1'", "no column password"),
        ("pooler = true\nquery = 'SELECT node_id, password FROM nods WHERE node_id = $1'", "nods"),
    ] {
        let refused = server.try_open_at(&url, settings).await.err().unwrap();
        assert!(refused.contains(wanted), "{settings}: {refused}");
    }
}

/// The timeout is said in each transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_statement_behind_it() {
    let server = Server::with_nodes(Kind::Postgres);
    let pgbouncer = Pgbouncer::before(&server.database, SIZE);
    let query = "query = '''SELECT node_id, password FROM nodes WHERE node_id = $1 \
                 AND (node_id <> '2000' OR (SELECT true FROM pg_sleep(30)))'''\npooler = true";
    let timeout = Duration::from_secs(1);
    let provider = server.open_through(pgbouncer.address(), query, timeout).await;
    let answers = join_all((0..4).map(|_| get_within(&*provider, "2000", timeout))).await;
    assert!(answers.iter().all(|answer| answer.starts_with("backend timed out")), "{answers:?}");
    server.quiet(BOUND).await;
    recovers(&*provider, "2001", "off").await;
}
