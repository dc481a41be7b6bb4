//! No statement runs on beyond its bound, and no connection is poisoned by one that did not answer.

use std::time::Duration;

use credgate_support::provider::{TIMEOUT, check, get, get_within};
use credgate_support::proxy::{Mode, Proxy};
use futures::future::join_all;
use tokio::time::Instant;

use crate::support::{BOUND, Kind, Server, for_each_kind};

/// Slow for every node but 2001.
fn slow(kind: Kind) -> String {
    let (parameter, nap) = match kind {
        Kind::Postgres => ("$1", "(SELECT true FROM pg_sleep(30))"),
        Kind::MariaDb => ("?", "sleep(30) IS NOT NULL"),
    };
    format!(
        "query = '''SELECT node_id, password FROM nodes WHERE node_id = {parameter} AND (node_id <> '2000' OR {nap})'''\n\
         max_connections = 8"
    )
}

/// B13: the lookups end at their deadlines, the statements within the server's own timeout.
async fn a_slow_statement_ends_on_both_sides(kind: Kind) {
    let server = Server::with_nodes(kind);
    let at = server.database.address();
    let timeout = Duration::from_secs(1);
    let provider = server.open_through(at, &slow(kind), timeout).await;
    let began = Instant::now();
    let answers = join_all((0..50).map(|_| get_within(&*provider, "2000", timeout))).await;
    assert!(began.elapsed() < timeout + Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(answers.iter().all(|answer| answer.starts_with("backend timed out")), "{answers:?}");
    server.quiet(BOUND).await;
    assert_eq!(get(&*provider, "2001").await, "off");
    check(&*provider).await.unwrap();
    assert!(server.database.connections() <= 9, "{}", server.database.connections());
}

/// The server's own word comes before the bound: it names the cause.
async fn the_server_ends_the_statement_first(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open_through(server.database.address(), &slow(kind), TIMEOUT).await;
    let answer = get(&*provider, "2000").await;
    assert!(answer.starts_with("backend timed out"), "{answer}");
    // On a machine that is busy the bound may come first.
    assert!(answer.contains("ended by the server") || answer.contains("in time"), "{answer}");
    assert_eq!(get(&*provider, "2001").await, "off");
}

/// B14: the path vanishes with a query in flight. The lookup ends at its deadline and what it held is free again.
async fn a_silent_path_with_a_query_in_flight(kind: Kind) {
    let server = Server::with_nodes(kind);
    let proxy = Proxy::to(server.database.address());
    let provider = server.open_through(proxy.address(), &slow(kind), Duration::from_secs(1)).await;
    assert_eq!(get(&*provider, "2001").await, "off");
    let held = join_all((0..8).map(|_| get_within(&*provider, "2000", Duration::from_secs(1))));
    let vanish = async {
        let end = Instant::now() + BOUND;
        while server.database.statements() < 1 && Instant::now() < end {
            tokio::task::yield_now().await;
        }
        proxy.set(Mode::BlackHole);
    };
    let (answers, ()) = tokio::join!(held, vanish);
    assert!(answers.iter().all(|answer| answer.starts_with("backend timed out")), "{answers:?}");
    assert!(get_within(&*provider, "2001", Duration::from_secs(1)).await.starts_with("backend timed out"));
    proxy.set(Mode::Pass);
    crate::support::recovers(&*provider, "2001", "off").await;
    server.quiet(BOUND).await;
}

/// A lock that another program holds.
async fn a_lock_is_waited_for_until_the_deadline(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&server.query()).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    let lock = match kind {
        Kind::Postgres => "BEGIN; LOCK TABLE nodes; SELECT pg_sleep(4); COMMIT",
        Kind::MariaDb => "LOCK TABLES nodes WRITE; SELECT sleep(4); UNLOCK TABLES",
    };
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| server.sql(lock));
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                while !get_within(&*provider, "2000", Duration::from_millis(500)).await.starts_with("backend timed out")
                {
                    assert!(!holder.is_finished(), "the lock was never seen");
                }
            });
        });
        holder.join().unwrap();
    });
    assert_eq!(get(&*provider, "2000").await, "secret");
    server.quiet(BOUND).await;
}

/// B9: callers that leave cost nothing that stays.
async fn callers_that_leave(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&format!("{}max_connections = 4", server.query())).await;
    for turn in 0..400_u64 {
        let _ = tokio::time::timeout(Duration::from_micros(turn * 10), get(&*provider, "2000")).await;
    }
    assert_eq!(get(&*provider, "2000").await, "secret");
    server.quiet(BOUND).await;
    assert!(server.database.connections() <= 5, "{}", server.database.connections());
}

for_each_kind!(
    a_slow_statement_ends_on_both_sides,
    the_server_ends_the_statement_first,
    a_silent_path_with_a_query_in_flight,
    a_lock_is_waited_for_until_the_deadline,
    callers_that_leave,
);
