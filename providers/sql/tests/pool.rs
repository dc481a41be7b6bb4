//! The pool's trap: statements that never end on every connection, their callers long gone. A process of its own, since
//! it counts threads.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test says what went wrong by failing")]

#[path = "sqlite/support.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use the rest")]
mod support;

use std::{fs, sync::Arc, time::Duration};

use credgate_provider::{Deadline, Provider, ProviderError, Slot};
use credgate_support::provider::{TIMEOUT, check, get, get_within, node};
use support::{Store, TABLE};
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, timeout},
};

/// Every node is found at once, except 6666, whose statement counts to a thousand million first.
const TRAP: &str = "query = '''SELECT node_id, password FROM nodes WHERE node_id = ?1 AND (?1 <> '6666' OR (
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT count(*) FROM c) > 0)'''
max_connections = 4";

/// The tests of this file count the threads of the whole process.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Counts the slots that are held.
#[derive(Clone)]
struct Slots(watch::Sender<usize>);

impl Slots {
    fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    fn slot(&self) -> Slot {
        struct Held(watch::Sender<usize>);
        impl Drop for Held {
            fn drop(&mut self) {
                self.0.send_modify(|held| *held -= 1);
            }
        }
        self.0.send_modify(|held| *held += 1);
        Slot::new(Held(self.0.clone()))
    }

    /// Waits until every slot has been given back.
    async fn all_back(&self) {
        let mut held = self.0.subscribe();
        let back = held.wait_for(|held| *held == 0);
        timeout(Duration::from_secs(10), back).await.expect("a slot was never given back").unwrap();
    }
}

fn store() -> Store {
    Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'secret', 1), ('6666', 'late', 1)"))
}

/// The threads that read: how many there are, and how many of them are running on a processor.
fn threads() -> (usize, usize) {
    let mut count = (0, 0);
    for task in fs::read_dir("/proc/self/task").unwrap() {
        // A thread may end while its entry is read.
        let Ok(stat) = fs::read_to_string(task.unwrap().path().join("stat")) else { continue };
        if stat.contains("(sqlite-") {
            count.0 += 1;
            count.1 += usize::from(stat.contains(") R "));
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_statements_without_end_on_a_pool_of_four() {
    let _alone = ALONE.lock().await;
    let store = store();
    let provider: Arc<dyn Provider> = store.open(TRAP).await.into();
    assert_eq!(threads().0, 0, "they start when there is something to read");
    for round in 0..3 {
        let slots = Slots::new();
        let start = Instant::now();
        let mut stuck = Vec::new();
        for caller in 0..4 {
            let (provider, slots) = (Arc::clone(&provider), slots.clone());
            stuck.push(tokio::spawn(async move {
                let node = node("6666");
                let lookup = provider.lookup(&node, Deadline::after(Duration::from_millis(400)), slots.slot());
                // Two callers wait for the answer, two leave without it.
                match caller % 2 {
                    0 => assert!(matches!(lookup.await, Err(ProviderError::TimedOut(_)))),
                    _ => assert!(timeout(Duration::from_millis(50), lookup).await.is_err()),
                }
            }));
        }
        for caller in stuck {
            caller.await.unwrap();
        }
        check(&*provider).await.unwrap();
        slots.all_back().await;
        assert!(start.elapsed() < Duration::from_millis(1000), "round {round}: {:?}", start.elapsed());
        let ended = async {
            while threads().1 != 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(1), ended).await.expect("a stuck statement still runs");
        assert!(threads().0 <= 4, "no more than there may be connections");

        let start = Instant::now();
        for _ in 0..30 {
            assert_eq!(get(&*provider, "2000").await, "secret");
        }
        assert!(start.elapsed() < Duration::from_millis(1000), "healthy at once: {:?}", start.elapsed());
    }
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_every_connection_is_busy_a_lookup_waits_in_time_and_a_check_not_at_all() {
    let _alone = ALONE.lock().await;
    let store = store();
    let provider: Arc<dyn Provider> = store.open(TRAP).await.into();
    let slots = Slots::new();
    let mut stuck = Vec::new();
    for _ in 0..4 {
        let (provider, slots) = (Arc::clone(&provider), slots.clone());
        stuck.push(tokio::spawn(async move {
            provider.lookup(&node("6666"), Deadline::after(TIMEOUT), slots.slot()).await
        }));
    }
    while threads().0 < 4 {
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    check(&*provider).await.unwrap();
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    let text = get_within(&*provider, "2000", Duration::from_millis(600)).await;
    assert!(text.contains("all 4 connections stayed busy"), "{text}");
    assert_eq!(get(&*provider, "2000").await, "secret", "answered as soon as one is free again");
    let mut interrupted = false;
    for caller in stuck {
        match caller.await.unwrap().unwrap_err() {
            ProviderError::TimedOut(text) => interrupted |= text.to_string().contains("and was interrupted"),
            other => panic!("{other}"),
        }
    }
    assert!(interrupted, "the innermost sentence arrives before the caller gives up");
    slots.all_back().await;
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_without_end_holds_up_nobody_else() {
    let _alone = ALONE.lock().await;
    let store = store();
    let provider: Arc<dyn Provider> = store.open(TRAP).await.into();
    let slots = Slots::new();
    let stuck = tokio::spawn({
        let (provider, slots) = (Arc::clone(&provider), slots.clone());
        async move { provider.lookup(&node("6666"), Deadline::after(Duration::from_secs(1)), slots.slot()).await }
    });
    while threads().1 < 1 {
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(get(&*provider, "2000").await, "secret");
    }
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    assert!(matches!(stuck.await.unwrap(), Err(ProviderError::TimedOut(_))));
    slots.all_back().await;
    provider.close().await;
    let ended = async {
        while threads().0 != 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(1), ended).await.expect("a thread outlives the provider");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_callers_that_leave() {
    let _alone = ALONE.lock().await;
    let store = store();
    let provider: Arc<dyn Provider> = store.open(TRAP).await.into();
    let slots = Slots::new();
    for _ in 0..10_000 {
        let node = node("2000");
        let lookup = provider.lookup(&node, Deadline::after(Duration::from_secs(2)), slots.slot());
        // Polled once, which starts the work, and dropped.
        let _ = timeout(Duration::ZERO, lookup).await;
    }
    slots.all_back().await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    provider.close().await;
}
