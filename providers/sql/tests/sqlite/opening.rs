//! Settings and files that cannot be used: each is refused with a sentence of its own.

use std::{fs, sync::mpsc, thread, time::Duration};

use credgate_provider::Deadline;
use credgate_support::provider::get;
use tokio::time::Instant;

use crate::support::{QUERY, Store, TABLE, prepare, set_mode, without_rights};

async fn refusal(store: &Store, settings: &str) -> String {
    match store.try_open(settings).await {
        Ok(provider) => panic!("opened: {}", provider.summary()),
        Err(text) => text,
    }
}

#[test]
fn settings_are_refused_without_showing_a_url() {
    let dir = tempfile::tempdir().unwrap();
    for (file, content) in [
        ("postgres.url", "postgres://u:canary@h\n"),
        ("odd.url", "canary canary"),
        ("none.url", "canary://u:canary@h"),
        ("empty.url", ""),
        ("sqlite.url", "sqlite:nodes.db\n"),
    ] {
        fs::write(dir.path().join(file), content).unwrap();
    }
    for (settings, wanted) in [
        ("", "provider.sql.url: is missing"),
        ("url = 'canary'", "is not a database URL"),
        ("url = 'canary://u:canary@h/d'", "known are sqlite:, postgres: and mysql:"),
        ("url = 'postgres:u:canary@h/d'", "lacks the //"),
        ("url = 'mysql://canary/d'", "names no user"),
        ("url = 'sqlite:canary.db?mode=rwc'", "takes no parameters"),
        ("url = 'sqlite::memory:'", "in-memory"),
        ("url = 7", "expected text"),
        ("url_file = 7", "expected text"),
        ("url = 'sqlite:canary.db'\nurl_file = 'sqlite.url'", "set exactly one of the two"),
        ("url_file = 'postgres.url'", "names no database"),
        ("url_file = 'odd.url'", "holds blanks"),
        ("url_file = 'none.url'", "known are sqlite:"),
        ("url_file = 'empty.url'", "is empty"),
        ("url_file = 'missing.url'", "cannot be read"),
        ("url = 'sqlite:n.db'\nquery = ' ; '", "query: is empty"),
        ("url = 'sqlite:n.db'\nmax_connections = 0", "max_connections: is out of range"),
        ("url = 'sqlite:n.db'\nmax_connection = 1", "did you mean \"max_connections\"?"),
    ] {
        let problems = prepare(dir.path(), settings).err().unwrap_or_default().join("\n");
        assert!(problems.contains(wanted) && !problems.contains("canary"), "{settings}: {problems}");
    }
    assert_eq!(prepare(dir.path(), "url_file = 'sqlite.url'").unwrap().slots(), 16);
    assert_eq!(prepare(dir.path(), "url = 'sqlite:n.db'\nmax_connections = 3").unwrap().slots(), 3);
}

#[tokio::test]
async fn files_that_are_no_database_of_ours() {
    let store = Store::empty();
    assert!(refusal(&store, "").await.contains("only for a first deployment, `credgate migrate` makes a new one"));

    fs::create_dir(store.path()).unwrap();
    assert!(refusal(&store, "").await.contains("is not a regular file"));
    fs::remove_dir(store.path()).unwrap();

    fs::write(store.path(), "node_id,password\n2000,secret\n".repeat(100)).unwrap();
    assert!(refusal(&store, "").await.contains("is not an SQLite database"));

    fs::write(store.path(), "").unwrap();
    assert!(refusal(&store, "").await.contains("has no credgate schema: run `credgate migrate`"));
    assert!(refusal(&store, QUERY).await.contains("no such table: nodes"));
}

#[tokio::test]
async fn a_schema_of_another_age() {
    for (change, wanted) in [
        ("UPDATE credgate_schema SET version = 0", "run `credgate migrate`"),
        ("UPDATE credgate_schema SET version = 9, min_reader = 9", "upgrade credgate"),
        ("DELETE FROM credgate_schema", "run `credgate migrate`"),
        ("DROP TABLE credgate_nodes", "no such table: credgate_nodes"),
    ] {
        let store = Store::migrated().await;
        store.sql(change);
        let text = refusal(&store, "").await;
        assert!(text.contains(wanted), "{change}: {text}");
    }
    let store = Store::migrated().await;
    store.sql("UPDATE credgate_schema SET version = 9, min_reader = 1");
    store.open("allow_empty = true").await;
}

#[tokio::test]
async fn a_query_that_cannot_answer() {
    let store = Store::with(&format!("{TABLE}; CREATE TABLE odd (id DATE, number INTEGER, part REAL, t TEXT, b BLOB)"));
    for (query, wanted) in [
        ("SELEC node_id", "syntax error"),
        ("SELECT node_id, password FROM node WHERE node_id = ?", "no such table: node"),
        ("SELECT node_id, pasword AS password FROM nodes WHERE node_id = ?", "no such column: pasword"),
        ("SELECT node_id, password FROM nodes", "takes 0 parameters"),
        ("SELECT node_id, password FROM nodes WHERE node_id = ? AND enabled = ?", "takes 2 parameters"),
        (
            "SELECT password FROM nodes WHERE node_id = ?",
            "returns no column node_id (use AS node_id); the columns it returns: password",
        ),
        ("SELECT node_id, enabled FROM nodes WHERE node_id = ?", "returns no column password"),
        (
            "SELECT a.node_id, b.node_id, a.password FROM nodes a, nodes b WHERE a.node_id = ?",
            "two columns named node_id",
        ),
        ("SELECT id AS node_id, t AS password FROM odd WHERE id = ?", "column node_id of type DATE"),
        ("SELECT b AS node_id, t AS password FROM odd WHERE b = ?", "column node_id of type BLOB; it must be text"),
        ("SELECT t AS node_id, t AS password, b AS enabled FROM odd WHERE t = ?", "column enabled of type BLOB"),
        ("SELECT t AS node_id, number AS password FROM odd WHERE t = ?", "column password of type INTEGER"),
        ("SELECT t AS node_id, part AS password FROM odd WHERE t = ?", "column password of type REAL"),
        ("SELECT t AS node_id, t AS password, part AS enabled FROM odd WHERE t = ?", "column enabled of type REAL"),
        ("SELECT node_id, password FROM nodes WHERE node_id = :node", "its parameter must be written ? (or ?1)"),
        (
            "UPDATE nodes SET enabled = 1 WHERE node_id = ? RETURNING node_id, password",
            "must be one SELECT and nothing else",
        ),
        ("DELETE FROM nodes WHERE node_id = ?", "must be one SELECT and nothing else: it returns no rows"),
        ("SELECT node_id, password FROM nodes WHERE node_id = ?; SELECT 1", "must be one SELECT and nothing else"),
    ] {
        let text = refusal(&store, &format!("query = '{query}'")).await;
        // Where it stands in the configuration: that is what has to be changed.
        assert!(text.contains(wanted) && text.contains("credgate.toml:3: provider.sql.query: "), "{query}: {text}");
    }
    for query in [
        "SELECT node_id, password FROM nodes WHERE node_id = ?1 OR ?1 = password; ",
        "SELECT NODE_ID, Password, enabled FROM nodes WHERE node_id = $1 -- the node",
        "WITH n AS (SELECT * FROM nodes) SELECT * FROM n WHERE node_id = ? ORDER BY 1 LIMIT 5",
        "SELECT CAST(b AS TEXT) AS node_id, t AS password FROM odd WHERE CAST(b AS TEXT) = ?",
    ] {
        store.open(&format!("query = '{query}'")).await;
    }
}

#[tokio::test]
async fn a_locked_file_is_waited_for_and_named() {
    let store = Store::with(TABLE);
    let mut writer = store.writer();
    writer.run("BEGIN EXCLUSIVE;");
    let start = Instant::now();
    let text = store.try_open_within(QUERY, Duration::from_millis(500)).await.err().unwrap();
    assert!(text.contains("is locked by another program"), "{text}");
    assert!(start.elapsed() < Duration::from_millis(1000));

    let (opened, ()) = tokio::join!(store.try_open(QUERY), async { writer.run("COMMIT;") });
    opened.unwrap();
}

#[test]
fn rights_that_are_lost_later() {
    let store = Store::with(TABLE);
    set_mode(store.folder(), 0o755);
    set_mode(&store.path(), 0o644);
    let ((ask, asked), (tell, told)) = (mpsc::channel(), mpsc::channel());
    thread::scope(|scope| {
        let (path, store) = (store.path(), &store);
        scope.spawn(move || {
            asked.recv().unwrap();
            set_mode(&path, 0o000);
            tell.send(()).unwrap();
        });
        without_rights(move |runtime| {
            runtime.block_on(async move {
                let provider = store.open(QUERY).await;
                provider.check(Deadline::after(Duration::from_secs(5))).await.unwrap();
                ask.send(()).unwrap();
                told.recv().unwrap();
                // The connection of the checks is open and would go on reading; those that lookups need cannot be opened.
                let error = provider.check(Deadline::after(Duration::from_secs(5))).await.unwrap_err();
                assert!(error.to_string().contains("may not be read by this user"), "{error}");
            });
        });
    });
}

#[test]
fn rights_that_are_missing() {
    let store = Store::with(TABLE);
    let refused = || {
        let mut text = String::new();
        without_rights(|runtime| text = runtime.block_on(refusal(&store, QUERY)));
        text
    };
    set_mode(store.folder(), 0o700);
    if rustix::process::geteuid().is_root() {
        let text = refused();
        assert!(text.contains("a folder above it may not be entered"), "{text}");
    }
    set_mode(store.folder(), 0o755);
    set_mode(&store.path(), 0o000);
    let text = refused();
    assert!(text.contains("may not be read by this user"), "{text}");

    // A reader of a rollback-journal database needs nothing but the file.
    set_mode(&store.path(), 0o444);
    set_mode(store.folder(), 0o555);
    without_rights(|runtime| drop(runtime.block_on(store.open(QUERY))));
    set_mode(store.folder(), 0o755);
}

#[test]
fn wal_mode_in_a_folder_that_readers_cannot_write() {
    let store = Store::with(&format!("PRAGMA journal_mode = WAL; {TABLE}"));
    set_mode(&store.path(), 0o444);
    set_mode(store.folder(), 0o555);
    without_rights(|runtime| {
        let text = runtime.block_on(refusal(&store, QUERY));
        assert!(text.contains("is in WAL mode") && text.contains("journal_mode=DELETE"), "{text}");
    });
    // With a writer there are the files that readers need, and they may be read.
    let mut writer = store.writer();
    writer.run("INSERT INTO nodes VALUES ('2000', 'secret', 1);");
    without_rights(|runtime| {
        let provider = runtime.block_on(store.open(QUERY));
        assert_eq!(runtime.block_on(get(&*provider, "2000")), "secret");
    });
    drop(writer);
    set_mode(store.folder(), 0o777);
    without_rights(|runtime| {
        let provider = runtime.block_on(store.open(QUERY));
        assert!(provider.summary().ends_with("journal mode wal"), "{}", provider.summary());
        runtime.block_on(provider.close());
    });
}

#[tokio::test]
async fn a_writer_that_crashed_leaves_work_for_a_writer() {
    let store = Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('2000', 'old', 1)"));
    let mut writer = store.writer();
    // A cache of one page makes SQLite write to the file, and so to the journal, before the commit.
    writer.run(
        "PRAGMA cache_size = 1; BEGIN; UPDATE nodes SET password = 'new'; \
         WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) \
         INSERT INTO nodes SELECT n, hex(randomblob(30)), 1 FROM c;",
    );
    drop(writer);
    let text = refusal(&store, QUERY).await;
    assert!(text.contains("a program that crashed") && text.contains("sqlite3"), "{text}");
    store.sql("SELECT count(*) FROM sqlite_schema");
    let provider = store.open(QUERY).await;
    assert_eq!(get(&*provider, "2000").await, "old");
}

#[tokio::test]
async fn the_file_is_opened_for_reading_only() {
    let store = Store::with(TABLE);
    let provider = store.open(QUERY).await;
    get(&*provider, "2000").await;
    let mut opened = 0;
    for fd in fs::read_dir("/proc/self/fd").unwrap() {
        let fd = fd.unwrap();
        if fs::read_link(fd.path()).is_ok_and(|file| file == store.path()) {
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.file_name().to_str().unwrap())).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
            assert_eq!(u32::from_str_radix(flags, 8).unwrap() & 0o3, 0, "O_RDONLY is 0");
            opened += 1;
        }
    }
    assert_eq!(opened, 2, "the check's connection and that of the lookup");
}
