//! What lookups answer: the exactly-one-row rule, the changes of other processes, and locks.

use std::{pin::pin, task::Poll, time::Duration};

use credgate_provider::ProviderError;
use credgate_support::provider::{check, get, get_within};
use futures::{future::join_all, poll};
use tokio::time::Instant;

use crate::support::{QUERY, Store, TABLE};

#[tokio::test]
async fn our_own_schema() {
    let store = Store::migrated().await;
    store.sql(
        "INSERT INTO credgate_nodes (node_id, password, enabled) VALUES \
         ('2000', 'secret 2000 ', 1), ('0200', 'with zero', 1), ('2001', 'off', 0), ('2002', NULL, 0); \
         PRAGMA ignore_check_constraints = ON; \
         INSERT INTO credgate_nodes VALUES ('3000', NULL, 1), ('3001', '', 1), ('3002', ' ', 1), \
         ('3003', char(233), 1), ('3004', 'p', 2)",
    );
    let provider = store.open("").await;
    for (node, wanted) in [
        ("2000", "secret 2000 "),
        ("0200", "with zero"),
        ("200", "no such node"),
        ("02000", "no such node"),
        ("2001", "no such node"),
        ("2002", "no such node"),
        ("3000", "corrupt record: the password is NULL"),
        ("3001", "corrupt record: the password is empty"),
        ("3002", "corrupt record: the password is only spaces"),
        ("3003", "corrupt record: the password holds a character that is not printable ASCII"),
        ("3004", "corrupt record: enabled is none of true, false, 1, 0, yes, no"),
    ] {
        assert_eq!(get(&*provider, node).await, wanted, "{node}");
    }
    check(&*provider).await.unwrap();
    assert!(provider.summary().contains("credgate's schema, journal mode wal"), "{}", provider.summary());
    provider.close().await;
    assert!(get(&*provider, "2000").await.contains("was closed"));
    assert!(check(&*provider).await.is_err());
}

/// Crowds and lookups that are alone, some of them left as soon as they have asked: whoever stays is answered.
#[tokio::test]
async fn nobody_waits_for_a_reader_that_nobody_called() {
    let store = Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'secret', 1)"));
    let provider = store.open(&format!("{QUERY}\nmax_connections = 64")).await;
    for crowd in (1..=40).chain([1; 40]) {
        for _ in 0..crowd % 3 {
            // Its reader may be quicker than this thread.
            if let Poll::Ready(answer) = poll!(pin!(get(&*provider, "2000"))) {
                assert_eq!(answer, "secret");
            }
        }
        let answers = join_all((0..crowd).map(|_| get(&*provider, "2000"))).await;
        assert!(answers.iter().all(|answer| answer == "secret"), "{crowd}: {answers:?}");
    }
}

#[tokio::test]
async fn tables_of_another_program() {
    let store = Store::with(&format!(
        "{TABLE}; INSERT INTO nodes VALUES \
         ('2000', 'plain', 'YES'), ('2001', x'626C6F62', 1), ('2002', x'FF', 1), ('2003', 'p', NULL), \
         ('2004', 'off', 'no'), ('2005', '', 'false'), ('2006', 'a', 1), ('2006', 'a', 0), \
         ('2007', 'p', 'on'), ('2008', 'p', 0.5), (x'32303039', 'bytes', 1)"
    ));
    // A column without a type takes whatever it is given.
    let provider =
        store.open("query = 'SELECT node_id, password, enabled FROM nodes WHERE CAST(node_id AS TEXT) = ?'").await;
    for (node, wanted) in [
        ("2000", "plain"),
        ("2001", "blob"),
        ("2002", "corrupt record: the password holds a character that is not printable ASCII"),
        ("2003", "corrupt record: enabled is NULL"),
        ("2004", "no such node"),
        ("2005", "no such node"),
        ("2006", "corrupt record: two or more rows for one node"),
        ("2007", "corrupt record: enabled is none of true, false, 1, 0, yes, no"),
        ("2008", "corrupt record: enabled is none of true, false, 1, 0, yes, no"),
        ("2009", "bytes"),
    ] {
        assert_eq!(get(&*provider, node).await, wanted, "{node}");
    }
}

#[tokio::test]
async fn a_row_of_another_node_does_not_count() {
    let store = Store::with(
        "CREATE TABLE numbers (node_id INTEGER, password TEXT); INSERT INTO numbers VALUES (200, 'two hundred'); \
         CREATE TABLE padded (node_id TEXT COLLATE RTRIM, password TEXT); \
         INSERT INTO padded VALUES ('2000 ', 'padded'), ('2000  ', 'padded more'), ('2001', 'a'), ('2001 ', 'b')",
    );
    let numbers = store.open("query = 'SELECT node_id, password FROM numbers WHERE node_id = ?'").await;
    assert_eq!(get(&*numbers, "200").await, "two hundred");
    assert_eq!(get(&*numbers, "0200").await, "no such node");
    let padded = store.open("query = 'SELECT node_id, password FROM padded WHERE node_id = ?'").await;
    assert_eq!(get(&*padded, "2000").await, "no such node");
    assert_eq!(get(&*padded, "2001").await, "a");
}

#[tokio::test]
async fn the_next_lookup_sees_what_another_process_changed() {
    for mode in ["WAL", "DELETE"] {
        let store = Store::migrated().await;
        store.sql(&format!("PRAGMA journal_mode = {mode}"));
        let provider = store.open("allow_empty = true").await;
        let mut writer = store.writer();
        assert_eq!(get(&*provider, "2000").await, "no such node");
        for (change, wanted) in [
            ("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'one');", "one"),
            ("UPDATE credgate_nodes SET password = 'two';", "two"),
            ("UPDATE credgate_nodes SET enabled = 0;", "no such node"),
            ("UPDATE credgate_nodes SET enabled = 1;", "two"),
            ("BEGIN; UPDATE credgate_nodes SET password = 'three';", "two"),
            ("COMMIT;", "three"),
            ("DELETE FROM credgate_nodes;", "no such node"),
        ] {
            writer.run(change);
            assert_eq!(get(&*provider, "2000").await, wanted, "{mode}: {change}");
        }
    }
}

#[tokio::test]
async fn a_table_that_changes_its_columns_gives_no_other_column_as_the_password() {
    let store = Store::with("CREATE TABLE nodes (node_id TEXT, password TEXT); INSERT INTO nodes VALUES ('2000', 'p')");
    let provider = store.open("query = 'SELECT * FROM nodes WHERE node_id = ?'").await;
    assert_eq!(get(&*provider, "2000").await, "p");
    store.sql("DROP TABLE nodes; CREATE TABLE nodes (node_id TEXT, note TEXT, password TEXT)");
    store.sql("INSERT INTO nodes VALUES ('2000', 'a note', 'q')");
    assert_eq!(get(&*provider, "2000").await, "q");
    store.sql("DROP TABLE nodes; CREATE TABLE nodes (node_id TEXT, note TEXT)");
    assert!(get(&*provider, "2000").await.contains("unavailable: no such column: password"));
    assert!(matches!(check(&*provider).await, Err(ProviderError::Unavailable(_))));
    store.sql("DROP TABLE nodes; CREATE TABLE nodes (password TEXT, node_id TEXT)");
    store.sql("INSERT INTO nodes VALUES ('r', '2000')");
    assert_eq!(get(&*provider, "2000").await, "r");
    check(&*provider).await.unwrap();
}

#[tokio::test]
async fn an_exclusive_lock_is_an_error_in_time_and_never_no_such_node() {
    let store = Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'secret', 1)"));
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    let mut writer = store.writer();
    writer.run("BEGIN EXCLUSIVE;");
    for (node, timeout) in [("2000", 600), ("9999", 600), ("2000", 150), ("2000", 20)] {
        let start = Instant::now();
        let text = get_within(&*provider, node, Duration::from_millis(timeout)).await;
        assert!(text.starts_with("backend timed out: "), "{text}");
        assert!(timeout < 600 || text.contains("is locked by another program"), "{text}");
        assert!(timeout < 600 || start.elapsed() >= Duration::from_millis(400), "it gave up before its time");
        assert!(start.elapsed() <= Duration::from_millis(timeout + 100), "{timeout}: {:?}", start.elapsed());
    }
    assert!(matches!(check(&*provider).await, Err(ProviderError::TimedOut(_))));
    writer.run("COMMIT;");
    assert_eq!(get(&*provider, "2000").await, "secret");
    check(&*provider).await.unwrap();

    // A lock that is given back in time is not noticed at all.
    writer.run("BEGIN EXCLUSIVE;");
    let (password, ()) = tokio::join!(get(&*provider, "2000"), async { writer.run("COMMIT;") });
    assert_eq!(password, "secret");
}

#[tokio::test]
async fn in_wal_mode_a_writer_shuts_nobody_out() {
    let store = Store::migrated().await;
    store.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'before')");
    let provider = store.open("").await;
    let mut writer = store.writer();
    writer.run("BEGIN EXCLUSIVE; UPDATE credgate_nodes SET password = 'after';");
    assert_eq!(get(&*provider, "2000").await, "before");
    check(&*provider).await.unwrap();
    writer.run("COMMIT;");
    assert_eq!(get(&*provider, "2000").await, "after");
}

#[tokio::test]
async fn a_writer_that_is_killed_in_wal_mode_leaves_nothing_to_do() {
    let store = Store::migrated().await;
    let mut writer = store.writer();
    writer.run("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'committed');");
    writer.run("PRAGMA cache_size = 1; BEGIN; UPDATE credgate_nodes SET password = 'never';");
    drop(writer);
    let provider = store.open("").await;
    assert_eq!(get(&*provider, "2000").await, "committed");

    let mut writer = store.writer();
    writer.run("BEGIN EXCLUSIVE; UPDATE credgate_nodes SET password = 'never';");
    drop(writer);
    assert_eq!(get(&*provider, "2000").await, "committed");
    check(&*provider).await.unwrap();
}

#[tokio::test]
async fn a_database_in_utf_16_and_a_text_with_a_zero_byte() {
    let store = Store::with(&format!(
        "PRAGMA encoding = 'UTF-16'; {TABLE}; INSERT INTO nodes VALUES ('2000', 'secret', 'yes'), \
         ('2001', 'se' || char(0) || 'cret', 1), ('2002', 'sécret', 1), ('2003' || char(0), 'longer', 1)"
    ));
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    for node in ["2001", "2002"] {
        assert!(get(&*provider, node).await.contains("not printable ASCII"));
    }
    assert_eq!(get(&*provider, "2003").await, "no such node");
}
