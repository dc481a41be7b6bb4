//! A table of ours without a node: refused at the start, and noticed when it becomes so.

use credgate_sql::SqlKind;
use credgate_support::provider::{check, get, prepare, site};

use crate::support::{QUERY, Store, TABLE, sql};

const WANTED: &str = "credgate_nodes holds no node";

#[tokio::test]
async fn a_store_without_a_node_is_not_opened_unless_that_is_wanted() {
    let store = Store::migrated().await;
    let refused = store.try_open("").await.err().unwrap();
    assert!(refused.starts_with(WANTED), "{refused}");
    assert!(refused.contains("`credgate import`") && refused.contains("allow_empty = true"), "{refused}");
    assert_eq!(store.try_open("allow_empty = false").await.err(), Some(refused));
    let provider = store.open("allow_empty = true").await;
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "no such node");
    // A disabled node is one.
    store.sql("INSERT INTO credgate_nodes (node_id, enabled) VALUES ('2001', 0)");
    store.open("").await;
}

#[tokio::test]
async fn a_table_that_becomes_empty_knows_nobody_and_does_not_say_so() {
    let store = Store::migrated().await;
    store.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'secret')");
    let provider = store.open("").await;
    assert_eq!(get(&*provider, "4711").await, "no such node");
    store.sql("DELETE FROM credgate_nodes");
    for _ in 0..2 {
        let error = check(&*provider).await.unwrap_err().to_string();
        assert!(error.contains(WANTED), "{error}");
        for node in ["2000", "4711"] {
            let answer = get(&*provider, node).await;
            assert!(answer.starts_with("backend unavailable: credgate_nodes holds no node"), "{answer}");
        }
    }
    // A lookup that finds somebody ends it as well as a check does.
    store.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'again')");
    assert_eq!(get(&*provider, "2000").await, "again");
    assert_eq!(get(&*provider, "4711").await, "no such node");
    check(&*provider).await.unwrap();
}

#[tokio::test]
async fn a_file_that_takes_its_place_must_not_be_empty_either() {
    let store = Store::migrated().await;
    // Rollback mode, as the page advises for files that are replaced.
    store.sql("PRAGMA journal_mode = DELETE; INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'secret')");
    let provider = store.open("").await;
    sql(&store.file("next.db"), &credgate_sql::migration_sql(credgate_sql::Dialect::Sqlite));
    std::fs::rename(store.file("next.db"), store.path()).unwrap();
    let error = check(&*provider).await.unwrap_err().to_string();
    assert!(error.contains(WANTED), "{error}");
    assert!(get(&*provider, "2000").await.starts_with("backend unavailable"));
}

#[tokio::test]
async fn of_a_query_nothing_can_be_known() {
    let store = Store::with(TABLE);
    let provider = store.open(QUERY).await;
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "no such node");
    let settings = format!("url = 'sqlite:nodes.db'\n{QUERY}\nallow_empty = true");
    let problems = prepare(&SqlKind, site(store.folder()), &settings).err().unwrap().join("; ");
    assert!(problems.contains("provider.sql.allow_empty: is about credgate's own schema"), "{problems}");
}
