//! The file behind the name: replaced by a rename, gone, and back.

use std::{fs, os::unix::fs::symlink};

use credgate_provider::ProviderError;
use credgate_support::provider::{check, get};

use crate::support::{QUERY, Store, TABLE, sql};

fn store() -> Store {
    Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'old', 1)"))
}

fn replace(store: &Store, script: &str) {
    let next = store.file("next.db");
    sql(&next, script);
    fs::rename(next, store.path()).unwrap();
}

#[tokio::test]
async fn a_replaced_file_is_noticed_by_the_check() {
    let store = store();
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "old");
    for round in 0..3 {
        replace(&store, &format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'new {round}', 1)"));
        check(&*provider).await.unwrap();
        assert_eq!(get(&*provider, "2000").await, format!("new {round}"));
    }
    store.sql("UPDATE nodes SET password = 'newest'");
    assert_eq!(get(&*provider, "2000").await, "newest");
}

#[tokio::test]
async fn two_files_never_answer_at_the_same_time() {
    let store = store();
    // No lookup has opened a connection yet: the first one finds the other file.
    let provider = store.open(QUERY).await;
    replace(&store, &format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'new', 1)"));
    assert!(
        get(&*provider, "2000").await.contains("unavailable"),
        "one file only, until the check has opened the other"
    );
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "new");
}

#[tokio::test]
async fn a_new_file_that_is_no_good_answers_nothing() {
    let store = store();
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "old");
    replace(&store, "CREATE TABLE other (x)");
    let error = check(&*provider).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Unavailable(text) if text.to_string().contains("no such table: nodes")),
        "{error}"
    );
    assert!(get(&*provider, "2000").await.contains("backend unavailable"));
    fs::write(store.path(), "not a database at all").unwrap();
    assert!(check(&*provider).await.unwrap_err().to_string().contains("is not an SQLite database"));
    replace(&store, &format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'new', 1)"));
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "new");
}

#[tokio::test]
async fn a_file_that_is_gone_does_not_answer_from_beyond() {
    let store = store();
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "old");
    fs::rename(store.path(), store.file("away.db")).unwrap();
    let error = check(&*provider).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Unavailable(text) if text.to_string().contains("does not exist")),
        "{error}"
    );
    assert!(get(&*provider, "2000").await.contains("does not exist"));
    fs::rename(store.file("away.db"), store.path()).unwrap();
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "old");
}

#[tokio::test]
async fn a_log_of_the_old_file_is_not_played_over_the_new_one() {
    let store = store();
    store.sql("PRAGMA journal_mode = WAL");
    let provider = store.open(QUERY).await;
    let mut writer = store.writer();
    writer.run("UPDATE nodes SET password = 'in the log';");
    assert_eq!(get(&*provider, "2000").await, "in the log");
    check(&*provider).await.unwrap();

    replace(&store, &format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'new', 1)"));
    drop(writer);
    let error = check(&*provider).await.unwrap_err().to_string();
    assert!(error.contains("nodes.db-wal and -shm are still those of the old file"), "{error}");
    assert!(get(&*provider, "2000").await.contains("backend unavailable"));
    for suffix in ["nodes.db-wal", "nodes.db-shm"] {
        fs::remove_file(store.file(suffix)).unwrap();
    }
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "new");
}

#[tokio::test]
async fn a_file_that_comes_back_brings_its_own_log() {
    let store = store();
    store.sql("PRAGMA journal_mode = WAL");
    let provider = store.open(QUERY).await;
    let mut writer = store.writer();
    writer.run("UPDATE nodes SET password = 'in the log';");
    check(&*provider).await.unwrap();
    fs::rename(store.path(), store.file("away.db")).unwrap();
    check(&*provider).await.unwrap_err();
    fs::rename(store.file("away.db"), store.path()).unwrap();
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "in the log");
}

#[tokio::test]
async fn a_link_is_followed() {
    let store = Store::empty();
    for name in ["one", "two"] {
        sql(&store.file(name), &format!("{TABLE}; INSERT INTO nodes VALUES ('2000', '{name}', 1)"));
    }
    symlink("one", store.path()).unwrap();
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "one");
    symlink("two", store.file("next")).unwrap();
    fs::rename(store.file("next"), store.path()).unwrap();
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "two");
}
