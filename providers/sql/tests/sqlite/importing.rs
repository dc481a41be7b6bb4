//! `import`: all rows or none, in three modes.

use std::time::Instant;

use credgate_provider::{NodeIdRule, PasswordRule};
use credgate_sql::{ImportError, ImportMode, Imported, NodeRow, Progress, import};
use credgate_support::provider::get;

use crate::support::Store;

fn row(line: usize, node: &str, password: &str, enabled: bool) -> NodeRow {
    NodeRow {
        line,
        node_id: NodeIdRule::default().parse(node).unwrap(),
        password: PasswordRule::default().parse(password.as_bytes()).ok(),
        enabled,
    }
}

async fn run(store: &Store, rows: &[NodeRow], mode: ImportMode) -> Result<Imported, ImportError> {
    import(&store.database(), rows, mode, &mut |_| {}).await
}

fn counts(inserted: u64, updated: u64, unchanged: u64, removed: u64) -> Imported {
    Imported { inserted, updated, unchanged, removed }
}

#[tokio::test]
async fn insert_update_and_replace() {
    let store = Store::migrated().await;
    let provider = store.open("allow_empty = true").await;
    let first = [row(2, "2000", "one", true), row(3, "0200", "zero ", true), row(4, "2001", "off", false)];
    assert_eq!(run(&store, &first, ImportMode::Insert).await.unwrap(), counts(3, 0, 0, 0));
    assert_eq!(get(&*provider, "0200").await, "zero ");
    assert_eq!(get(&*provider, "2001").await, "no such node");

    let again = [row(2, "3000", "new", true), row(3, "2001", "on", true), row(7, "2000", "two", true)];
    match run(&store, &again, ImportMode::Insert).await {
        Err(ImportError::Exist { lines }) => assert_eq!(lines, [3, 7]),
        other => panic!("{other:?}"),
    }
    assert_eq!(get(&*provider, "3000").await, "no such node");
    assert_eq!(get(&*provider, "2000").await, "one");

    assert_eq!(run(&store, &again, ImportMode::Update).await.unwrap(), counts(1, 2, 0, 0));
    assert_eq!(run(&store, &again, ImportMode::Update).await.unwrap(), counts(0, 0, 3, 0));
    assert_eq!(get(&*provider, "2000").await, "two");
    assert_eq!(get(&*provider, "0200").await, "zero ");

    let table = [row(2, "2000", "two", true), row(3, "4000", "", false), row(4, "3000", "newer", true)];
    assert_eq!(run(&store, &table, ImportMode::Replace).await.unwrap(), counts(1, 1, 1, 2));
    assert_eq!(
        store.sql("SELECT node_id, coalesce(password, 'NULL'), enabled FROM credgate_nodes"),
        "2000|two|1\n3000|newer|1\n4000|NULL|0\n"
    );
    assert_eq!(run(&store, &[], ImportMode::Replace).await.unwrap(), counts(0, 0, 0, 3));
}

#[tokio::test]
async fn nothing_is_written_when_something_is_wrong() {
    let store = Store::migrated().await;
    let rows = [row(2, "1", "a", true), row(3, "2", "", true), row(4, "1", "b", true), row(5, "3", "c", true)];
    match run(&store, &rows, ImportMode::Replace).await {
        Err(ImportError::Invalid { lines }) => assert_eq!(lines, [3, 4]),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.sql("SELECT count(*) FROM credgate_nodes"), "0\n");

    for (change, wanted) in [
        ("UPDATE credgate_schema SET version = 2", "newer schema than this build can write"),
        ("DROP TABLE credgate_schema", "run `credgate migrate`"),
    ] {
        store.sql(change);
        let error = run(&store, &rows[..1], ImportMode::Update).await.unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let error = run(&Store::empty(), &rows[..1], ImportMode::Update).await.unwrap_err().to_string();
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn readers_see_the_table_before_or_after() {
    for mode in ["WAL", "DELETE"] {
        let store = Store::migrated().await;
        store.sql(&format!("PRAGMA journal_mode = {mode}"));
        let table = |password: &str| -> Vec<NodeRow> {
            (0..20_000).map(|n| row(n + 2, &n.to_string(), password, true)).collect()
        };
        run(&store, &table("a"), ImportMode::Insert).await.unwrap();
        let provider = store.open("").await;
        let database = store.database();
        let rows = table("b");
        let mut calls = Vec::new();
        let mut note = |progress| calls.push(progress);
        let mut importing = Box::pin(import(&database, &rows, ImportMode::Replace, &mut note));
        let mut seen_new = false;
        let done = loop {
            tokio::select! {
                done = &mut importing => break done.unwrap(),
                found = async { (get(&*provider, "0").await, get(&*provider, "19999").await) } => {
                    match (found.0.as_str(), found.1.as_str()) {
                        ("a", "a" | "b") if !seen_new => {}
                        ("b", "b") => seen_new = true,
                        other => panic!("{mode}: {other:?}"),
                    }
                }
            }
        };
        drop(importing);
        assert_eq!(done, counts(0, 20_000, 0, 0));
        assert_eq!(get(&*provider, "0").await, "b");
        assert_eq!(calls.first(), Some(&Progress::Rows { done: 0, of: 20_000 }));
        assert_eq!(calls[calls.len() - 2..], [Progress::Rows { done: 20_000, of: 20_000 }, Progress::Writing]);
    }
}

/// `cargo test -p credgate-sql --release -- --ignored a_million_rows --nocapture`
#[tokio::test]
#[ignore = "takes long in a debug build"]
async fn a_million_rows() {
    let store = Store::migrated().await;
    let rows: Vec<NodeRow> =
        (0..1_000_000).map(|n| row(n + 2, &n.to_string(), &format!("password-{n}"), true)).collect();
    for (mode, wanted) in
        [(ImportMode::Insert, counts(1_000_000, 0, 0, 0)), (ImportMode::Replace, counts(0, 0, 1_000_000, 0))]
    {
        let start = Instant::now();
        assert_eq!(run(&store, &rows, mode).await.unwrap(), wanted);
        println!("{mode:?}: {:?}", start.elapsed());
    }
    assert_eq!(get(&*store.open("").await, "777777").await, "password-777777");
}
