//! Outages as registrars see them: unavailable, in time, never unknown, and over when they are over.

use std::time::{Duration, Instant};

use credgate_support::proxy::Mode;
use futures::future::join_all;

use crate::ground::{BOUND, Ground, Kind, UNAVAILABLE, for_each_kind};

/// A1, A2: nothing of an outage is left when it is over, and the log tells of it once.
async fn refused_and_back(kind: Kind) {
    let ground = Ground::new(kind);
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), ground.password());
    for round in 1..=2 {
        ground.proxy.set(Mode::Refuse);
        ground.proxy.cut();
        let failed = |line: &credgate_support::process::Line| line.says("backend check failed");
        let end = Instant::now() + BOUND;
        let mut began = false;
        while gateway.log.lines().iter().filter(|line| failed(line)).count() < round {
            for node in ["2000", "4711"] {
                let answer = client.lookup(node).await;
                began |= answer.as_ref().is_err_and(|ending| UNAVAILABLE.contains(&ending.as_str()));
                // Until the connections are cut.
                let before = match node {
                    "2000" => answer.as_deref() == Ok(ground.password()),
                    _ => answer.as_deref() == Err(&"NOT_FOUND NODE_NOT_FOUND".to_owned()),
                };
                assert!(began != before, "{answer:?}");
            }
            assert!(Instant::now() < end, "the check never failed");
        }
        assert!(UNAVAILABLE.contains(&client.lookup("4711").await.unwrap_err().as_str()));
        ground.proxy.set(Mode::Pass);
        ground.recovers(&client).await;
        assert_eq!(client.lookup("4711").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
        let again = |line: &credgate_support::process::Line| line.says("backend check succeeds again");
        while gateway.log.lines().iter().filter(|line| again(line)).count() < round {
            assert!(Instant::now() < end, "the check never succeeded again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // One line per change of state.
        let checks = gateway.log.lines().iter().filter(|line| failed(line) || again(line)).count();
        assert_eq!(checks, 2 * round);
    }
}

/// A8: killed with a hundred lookups in flight.
async fn killed_in_flight(kind: Kind) {
    let ground = Ground::new(kind);
    ground.proxy.set(Mode::Delay(Duration::from_millis(50)));
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    let lookups = join_all((0..100).map(|_| client.lookup("2000")));
    let kill = async { tokio::task::block_in_place(|| ground.database.kill()) };
    let (answers, ()) = tokio::join!(lookups, kill);
    assert_eq!(answers.len(), 100);
    for answer in answers {
        match answer {
            Ok(password) => assert_eq!(password, ground.password()),
            Err(ending) => {
                let known = UNAVAILABLE.contains(&ending.as_str()) || ending == "RESOURCE_EXHAUSTED AT_CAPACITY";
                assert!(known, "{ending}");
            }
        }
    }
    ground.proxy.set(Mode::Pass);
    ground.database.start_again();
    ground.recovers(&client).await;
    assert!(gateway.is_running());
}

/// B7: one and the same process, however often the database is restarted under load.
async fn many_restarts(kind: Kind) {
    let ground = Ground::new(kind);
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    for _ in 0..5 {
        tokio::task::block_in_place(|| ground.database.stop());
        join_all((0..20).map(|_| client.lookup("2000"))).await.into_iter().for_each(|answer| {
            assert!(UNAVAILABLE.contains(&answer.unwrap_err().as_str()));
        });
        tokio::task::block_in_place(|| ground.database.start_again());
        ground.recovers(&client).await;
    }
    assert!(gateway.is_running());
}

/// B10: what cannot run is refused at once; what runs ends in time.
async fn more_than_it_can_do(kind: Kind) {
    let mut ground = Ground::new(kind);
    let nap = match kind {
        Kind::Postgres => {
            "SELECT node_id, password FROM credgate_nodes WHERE node_id = $1 \
                           AND (SELECT true FROM pg_sleep(0.3 + 0 * length(node_id)))"
        }
        Kind::MariaDb => "SELECT node_id, password FROM credgate_nodes WHERE node_id = ? AND sleep(0.3) IS NOT NULL",
    };
    ground.deployment.config.set("provider.sql.query", nap);
    ground.deployment.config.set("provider.sql.max_connections", 4);
    ground.deployment.config.set("lookup.queue", 4);
    ground.deployment.config.set("lookup.timeout", "10s");
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    let answers = join_all((0..60).map(|_| client.lookup("2000"))).await;
    let right = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused =
        |answer: &&Result<String, String>| answer.as_deref() == Err(&"RESOURCE_EXHAUSTED AT_CAPACITY".to_owned());
    assert_eq!(right + answers.iter().filter(refused).count(), 60, "{answers:?}");
    assert!(right >= 8, "{right}");
    assert_eq!(client.lookup("2000").await.unwrap(), ground.password());
    assert!(ground.database.connections() <= 5);
}

for_each_kind!(refused_and_back, killed_in_flight, many_restarts, more_than_it_can_do);
