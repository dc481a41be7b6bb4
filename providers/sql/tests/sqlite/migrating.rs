//! `migrate`: a new file, an existing one, again, by hand, and from the future.

use std::{fs, os::unix::fs::PermissionsExt};

use credgate_provider::{Report, settings::Document};
use credgate_sql::{Dialect, MigrateError, SqlKind, migrate, migration_sql};
use credgate_support::provider::get;

use crate::support::{Store, set_mode, without_rights};

#[tokio::test]
async fn a_new_file_is_in_wal_mode_and_its_owners_alone() {
    let store = Store::empty();
    let done = migrate(&store.database()).await.unwrap();
    assert_eq!((done.from, done.to), (None, 1));
    assert!(done.place.ends_with("nodes.db, journal mode wal"), "{}", done.place);
    assert_eq!(fs::metadata(store.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.sql("SELECT version, min_reader FROM credgate_schema"), "1|1\n");

    store.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'p'); PRAGMA journal_mode = DELETE");
    let again = migrate(&store.database()).await.unwrap();
    assert_eq!((again.from, again.to), (Some(1), 1));
    assert!(again.place.ends_with("journal mode delete"), "a mode that was chosen is kept: {}", again.place);
    assert_eq!(get(&*store.open("").await, "2000").await, "p");
}

#[tokio::test]
async fn a_file_of_another_program_gets_our_tables_beside_its_own() {
    let store = Store::with("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (7)");
    migrate(&store.database()).await.unwrap();
    assert_eq!(store.sql("SELECT x FROM theirs; PRAGMA journal_mode"), "7\ndelete\n");
    store.open("allow_empty = true").await;
}

#[tokio::test]
async fn printed_sql_can_be_run_by_hand_and_migrated_later() {
    let sql = migration_sql(Dialect::Sqlite);
    let store = Store::with(&sql);
    store.sql(&sql);
    store.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'p')");
    assert_eq!(get(&*store.open("").await, "2000").await, "p");
    assert_eq!(migrate(&store.database()).await.unwrap().from, Some(1));
    assert_eq!(get(&*store.open("").await, "2000").await, "p");
}

#[tokio::test]
async fn two_at_once() {
    let store = Store::empty();
    let database = store.database();
    let (one, two) = tokio::join!(migrate(&database), migrate(&database));
    let mut from = [one.unwrap().from, two.unwrap().from];
    from.sort();
    assert_eq!(from, [None, Some(1)]);
}

#[tokio::test]
async fn what_cannot_be_migrated_is_left_alone() {
    let store = Store::migrated().await;
    store.sql("UPDATE credgate_schema SET version = 5, min_reader = 1");
    assert!(matches!(migrate(&store.database()).await, Err(MigrateError::Newer { found: 5 })));

    let store = Store::empty();
    fs::write(store.path(), "not a database at all").unwrap();
    let error = migrate(&store.database()).await.unwrap_err().to_string();
    assert!(error.contains("is not an SQLite database"), "{error}");
    assert_eq!(fs::read(store.path()).unwrap(), b"not a database at all");
}

#[test]
fn rights_that_are_missing() {
    let store = Store::empty();
    let refused = || {
        let mut text = String::new();
        without_rights(|runtime| text = runtime.block_on(migrate(&store.database())).unwrap_err().to_string());
        text
    };
    set_mode(store.folder(), 0o555);
    let text = refused();
    assert!(text.contains("cannot be made: Permission denied"), "{text}");
    set_mode(store.folder(), 0o755);
    store.sql("CREATE TABLE theirs (x)");
    set_mode(&store.path(), 0o444);
    set_mode(store.folder(), 0o555);
    let text = refused();
    assert!(text.contains("needs write permission on the file and on its folder"), "{text}");
    set_mode(store.folder(), 0o755);
}

#[test]
fn the_commands_know_only_our_own_schema() {
    let store = Store::empty();
    fs::write(store.file("owner.url"), "sqlite:owner.db\n").unwrap();
    let ask = |settings: &str, url_file: Option<&str>| {
        let report = Report::default();
        let document = Document::parse(&store.file("credgate.toml"), &format!("[provider.sql]\n{settings}"), &report);
        let root = document.root(&report);
        let settings = root.section("provider").section("sql");
        let file = url_file.map(|name| store.file(name));
        let database = SqlKind.own_schema(&settings, file.as_deref(), store.folder(), &report);
        (database.is_some(), report.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(ask("url = 'sqlite:nodes.db'", None), (true, String::new()));
    assert_eq!(ask("url = 'postgres://reader:canary@h/d'", Some("owner.url")), (true, String::new()));
    let (_, problems) = ask("url = 'sqlite:nodes.db'\nquery = 'SELECT 1'", None);
    assert!(problems.contains("query: is set, so credgate's own schema is not used"), "{problems}");
    let (found, problems) = ask("", Some("nobody.url"));
    assert!(!found && problems.starts_with("--url-file: ") && problems.contains("cannot be read"), "{problems}");
}
