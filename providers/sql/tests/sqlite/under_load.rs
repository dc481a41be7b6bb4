//! Many lookups while another process writes: no wrong answer.
//!
//! A few thousand here; the full 100,000 in each mode with `CREDGATE_TEST_LOOKUPS=100000 cargo test -p credgate-sql
//! under_load`.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use credgate_provider::Provider;
use credgate_support::provider::get;

use crate::support::Store;

const NODES: u64 = 50;
const READERS: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_beside_a_writer_in_wal_mode() {
    lookups_beside_a_writer("WAL").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_beside_a_writer_in_rollback_mode() {
    lookups_beside_a_writer("DELETE").await;
}

/// All nodes get the password of the next round in one transaction, and node 9999 comes and goes. Whoever reads must
/// find every enabled node, with the password of a round that is not older than one that was seen to be committed
/// before the lookup began.
async fn lookups_beside_a_writer(mode: &str) {
    let lookups: u64 = env::var("CREDGATE_TEST_LOOKUPS").map_or(4000, |number| number.parse().unwrap());
    let store = Store::migrated().await;
    store.sql(&format!(
        "PRAGMA journal_mode = {mode}; \
         WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < {}) \
         INSERT INTO credgate_nodes (node_id, password) SELECT i, i || '-0' FROM n",
        1000 + NODES - 1
    ));
    let provider: Arc<dyn Provider> = store.open("max_connections = 8").await.into();
    let (committed, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));

    let mut readers = Vec::new();
    for reader in 0..READERS {
        let (provider, committed) = (Arc::clone(&provider), Arc::clone(&committed));
        readers.push(tokio::spawn(async move {
            for turn in 0..lookups / READERS {
                let node = (1000 + (turn * 7 + reader) % NODES).to_string();
                let at_least = committed.load(Ordering::SeqCst);
                let password = get(&*provider, &node).await;
                let round = password.strip_prefix(&format!("{node}-")).and_then(|round| round.parse::<u64>().ok());
                assert!(round.is_some_and(|round| round >= at_least), "node {node} in round {at_least}: {password}");
                let coming = get(&*provider, "9999").await;
                assert!(coming == "no such node" || coming == "here", "{coming}");
            }
        }));
    }
    let writer = tokio::task::spawn_blocking({
        let (mut writer, committed, done) = (store.writer(), Arc::clone(&committed), Arc::clone(&done));
        move || {
            writer.run("PRAGMA busy_timeout = 20000; PRAGMA synchronous = OFF;");
            for round in 1.. {
                if done.load(Ordering::SeqCst) {
                    return round;
                }
                let there = if round % 2 == 0 {
                    "DELETE FROM credgate_nodes WHERE node_id = '9999';"
                } else {
                    "INSERT INTO credgate_nodes (node_id, password) VALUES ('9999', 'here');"
                };
                writer.run(&format!(
                    "BEGIN IMMEDIATE; UPDATE credgate_nodes SET password = node_id || '-{round}' \
                     WHERE node_id <> '9999'; {there} COMMIT;"
                ));
                committed.store(round, Ordering::SeqCst);
            }
            0
        }
    });
    // The writer must end whatever the readers have found.
    let read = futures::future::join_all(readers).await;
    done.store(true, Ordering::SeqCst);
    read.into_iter().for_each(|reader| reader.unwrap());
    let rounds = writer.await.unwrap();
    assert!(rounds > 3, "the writer came no further than round {rounds}");
    println!("{mode}: {lookups} lookups in {rounds} rounds of the writer");
}
