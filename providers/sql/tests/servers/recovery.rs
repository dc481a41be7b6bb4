//! Everything that happens to a database server, and the first right answer after it.

use std::time::Duration;

use credgate_support::provider::{TIMEOUT, check, get};
use credgate_support::proxy::{Mode, Proxy};
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use crate::support::{BOUND, Kind, Server, TICK, for_each_kind, recovers};

/// Opens as many connections as it may have.
async fn warm(provider: &dyn credgate_provider::Provider, count: usize) {
    for answer in join_all((0..count * 4).map(|_| get(provider, "2000"))).await {
        assert_eq!(answer, "secret");
    }
}

/// B4: every connection is ended by the server; no lookup fails.
async fn killed_connections(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&format!("{}max_connections = 5", server.query())).await;
    for _ in 0..3 {
        warm(&*provider, 5).await;
        assert!(server.database.end_connections() >= 2);
        for _ in 0..200 {
            assert_eq!(get(&*provider, "2000").await, "secret");
        }
        check(&*provider).await.unwrap();
    }
    assert!(server.database.connections() <= 6);
}

/// A1, A2, B19: unavailable meanwhile, never unknown, nothing of it left; the first lookup after a restart is right.
async fn a_stop_and_a_start(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&server.query()).await;
    for _ in 0..3 {
        warm(&*provider, 4).await;
        server.database.stop();
        for node in ["2000", "4711"] {
            let answer = get(&*provider, node).await;
            assert!(answer.starts_with("backend unavailable"), "{answer}");
        }
        assert!(check(&*provider).await.is_err());
        server.database.start_again();
        assert_eq!(get(&*provider, "2000").await, "secret");
        assert_eq!(get(&*provider, "4711").await, "no such node");
        check(&*provider).await.unwrap();
        server.database.restart();
        assert_eq!(get(&*provider, "2000").await, "secret");
    }
}

/// A8: killed with a hundred lookups under way; each of them ends once, in time.
async fn killed_with_lookups_in_flight(kind: Kind) {
    let server = Server::with_nodes(kind);
    let proxy = Proxy::to(server.database.address());
    proxy.set(Mode::Delay(Duration::from_millis(100)));
    let provider = server.open_through(proxy.address(), &server.query(), TIMEOUT).await;
    let lookups = join_all((0..100).map(|_| get(&*provider, "2000")));
    let kill = async { tokio::task::block_in_place(|| server.database.kill()) };
    let (answers, ()) = tokio::join!(lookups, kill);
    let right = |answer: &String| answer == "secret" || answer.starts_with("backend ");
    assert!(answers.iter().all(right), "{answers:?}");
    proxy.set(Mode::Pass);
    server.database.start_again();
    recovers(&*provider, "2000", "secret").await;
    server.quiet(BOUND).await;
}

/// SIGSTOP: the kernel goes on taking connections, and nobody answers.
async fn a_frozen_server(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&server.query()).await;
    warm(&*provider, 4).await;
    server.database.freeze();
    for _ in 0..2 {
        let began = Instant::now();
        let answers = join_all((0..8).map(|_| get(&*provider, "2000"))).await;
        assert!(answers.iter().all(|answer| answer.starts_with("backend timed out")), "{answers:?}");
        assert!(began.elapsed() < TIMEOUT + Duration::from_secs(5));
    }
    assert!(check(&*provider).await.is_err());
    server.database.thaw();
    recovers(&*provider, "2000", "secret").await;
    check(&*provider).await.unwrap();
    server.quiet(BOUND).await;
}

/// Connections that rested while the path was lost silently: the lookup itself finds out, inside its deadline.
async fn idle_connections_that_died_silently(kind: Kind) {
    let server = Server::with_nodes(kind);
    let proxy = Proxy::to(server.database.address());
    let provider = server.open_through(proxy.address(), &server.query(), TIMEOUT).await;
    warm(&*provider, 4).await;
    // Long enough to count as rested; what dies is the path of these, and a new one leads to the server directly.
    sleep(Duration::from_millis(1100)).await;
    proxy.cut();
    assert_eq!(get(&*provider, "2000").await, "secret");
}

/// The name leads to another server with other content: answered from there once connections are old enough.
async fn a_name_that_moves(kind: Kind) {
    let (one, other) = (Server::with_nodes(kind), Server::with_nodes(kind));
    let (password, secret) = (&one.database.password, "elsewhere");
    match kind {
        Kind::Postgres => other.sql(&format!("ALTER ROLE credgate_reader PASSWORD '{password}'")),
        Kind::MariaDb => other.sql(&format!(
            "ALTER USER credgate_reader@'%' IDENTIFIED BY '{password}'; \
             ALTER USER credgate_reader@localhost IDENTIFIED BY '{password}'"
        )),
    };
    other.sql(&format!("UPDATE nodes SET password = '{secret}' WHERE node_id = '2000'"));
    let proxy = Proxy::to(one.database.address());
    let settings = format!("{}max_connection_age = '1s'", one.query());
    let provider = one.open_through(proxy.address(), &settings, TIMEOUT).await;
    warm(&*provider, 4).await;
    proxy.lead_to(other.database.address());
    let end = Instant::now() + BOUND;
    while get(&*provider, "2000").await != secret {
        assert!(Instant::now() < end);
        sleep(TICK).await;
    }
    check(&*provider).await.unwrap();
    // Failover: the one in use is gone, and the name leads back.
    proxy.lead_to(one.database.address());
    tokio::task::block_in_place(|| other.database.kill());
    assert_eq!(get(&*provider, "2000").await, "secret");
    // The old connections were closed, not forgotten.
    while one.database.connections() > 17 {
        assert!(Instant::now() < end);
    }
}

async fn a_login_that_is_refused_for_a_while(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&server.query()).await;
    warm(&*provider, 4).await;
    let (lock, unlock) = match kind {
        Kind::Postgres => ("ALTER ROLE credgate_reader NOLOGIN", "ALTER ROLE credgate_reader LOGIN"),
        Kind::MariaDb => (
            "ALTER USER credgate_reader@'%' ACCOUNT LOCK; ALTER USER credgate_reader@localhost ACCOUNT LOCK",
            "ALTER USER credgate_reader@'%' ACCOUNT UNLOCK; ALTER USER credgate_reader@localhost ACCOUNT UNLOCK",
        ),
    };
    server.sql(lock);
    server.database.end_connections();
    let answer = get(&*provider, "2000").await;
    assert!(answer.starts_with("backend unavailable") && answer.contains("refuses the login"), "{answer}");
    assert!(!answer.contains("credgate_reader"), "{answer}");
    assert!(check(&*provider).await.is_err());
    server.sql(unlock);
    assert_eq!(get(&*provider, "2000").await, "secret");
    check(&*provider).await.unwrap();
}

/// B12: three gateways against a server that takes fewer connections than they may open.
async fn too_many_clients(kind: Kind) {
    let setting = if kind == Kind::Postgres { "max_connections=14" } else { "max-connections=10" };
    let server = Server::start_with(kind, &[setting]);
    server.sql("CREATE TABLE nodes (node_id varchar(20) PRIMARY KEY, password varchar(80), enabled varchar(5))");
    server.sql("INSERT INTO nodes VALUES ('2000', 'secret', 'yes')");
    let query = server.query();
    let gateways = join_all((0..3).map(|_| server.open(&query))).await;
    let right = |answer: &&String| *answer == "secret";
    let end = Instant::now() + BOUND;
    loop {
        let lookups = gateways.iter().flat_map(|gateway| (0..40).map(move |_| get(&**gateway, "2000")));
        let answers = join_all(lookups).await;
        assert!(answers.iter().all(|answer| right(&answer) || answer.starts_with("backend ")), "{answers:?}");
        if answers.iter().any(|answer| right(&answer)) {
            break;
        }
        assert!(Instant::now() < end, "{answers:?}");
    }
    drop(gateways.into_iter().skip(1).collect::<Vec<_>>());
    let provider = server.open(&query).await;
    recovers(&*provider, "2000", "secret").await;
}

for_each_kind!(
    killed_connections,
    a_stop_and_a_start,
    killed_with_lookups_in_flight,
    a_frozen_server,
    idle_connections_that_died_silently,
    a_name_that_moves,
    a_login_that_is_refused_for_a_while,
    too_many_clients,
);
