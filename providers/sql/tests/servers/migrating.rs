//! `credgate migrate` on a server.

use credgate_sql::{MigrateError, migrate, migration_sql};
use credgate_support::provider::{check, get};

use crate::support::{Kind, Server, for_each_kind};

async fn two_at_once_make_one_schema(kind: Kind) {
    let server = Server::start(kind);
    let owner = server.owner();
    let (one, other) = tokio::join!(migrate(&owner), migrate(&owner));
    let mut from = [one.unwrap().from, other.unwrap().from];
    from.sort();
    assert_eq!(from, [None, Some(1)]);
    assert_eq!(migrate(&owner).await.unwrap().from, Some(1));
    assert_eq!(server.sql("SELECT version, min_reader FROM credgate_schema"), "1\t1\n");
}

async fn the_printed_sql_does_the_same(kind: Kind) {
    let server = Server::start(kind);
    let sql = migration_sql(server.owner().dialect());
    server.sql(&sql);
    server.sql(&sql);
    let provider = server.open("allow_empty = true").await;
    assert_eq!(get(&*provider, "2000").await, "no such node");
    if kind == Kind::MariaDb {
        assert_eq!(migrate(&server.owner()).await.unwrap().from, Some(1));
    }
}

async fn versions_decide_who_may_read(kind: Kind) {
    let server = Server::migrated(kind).await;
    let provider = server.open("allow_empty = true").await;
    server.sql("UPDATE credgate_schema SET version = 7");
    check(&*provider).await.unwrap();
    match migrate(&server.owner()).await {
        Err(MigrateError::Newer { found: 7 }) => {}
        other => panic!("{other:?}"),
    }
    server.sql("UPDATE credgate_schema SET min_reader = 7");
    assert!(check(&*provider).await.unwrap_err().to_string().contains("upgrade credgate"));
    let refused = server.try_open("").await.err().unwrap();
    assert!(refused.contains("upgrade credgate"), "{refused}");
    server.sql("DROP TABLE credgate_schema");
    let refused = server.try_open("").await.err().unwrap();
    assert!(refused.contains("has no credgate schema"), "{refused}");
}

async fn the_table_refuses_what_no_lookup_could_return(kind: Kind) {
    let server = Server::migrated(kind).await;
    let quoted = |value: &str| format!("'{}'", value.replace('\'', "''"));
    let try_row = |node: &str, password: &str, enabled: &str| {
        let sql =
            format!("INSERT INTO credgate_nodes (node_id, password, enabled) VALUES ({node}, {password}, {enabled})");
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.sql(&sql))).is_ok()
    };
    for (password, enabled, taken) in [
        ("secret", "true", true),
        (" a ~ ", "true", true),
        ("", "true", false),
        ("   ", "true", false),
        ("é", "true", false),
        ("a\tb", "false", false),
    ] {
        let node = quoted(&format!("n{password}"));
        assert_eq!(try_row(&node, &quoted(password), enabled), taken, "{password:?}");
    }
    assert!(try_row("'x'", "NULL", "false") && !try_row("'y'", "NULL", "true") && !try_row("''", "'p'", "true"));
    // Byte for byte: these are two nodes.
    assert!(try_row("'abc'", "'p'", "true") && try_row("'ABC'", "'p'", "true"));
}

async fn a_reader_may_not_migrate(kind: Kind) {
    let server = Server::start(kind);
    if kind == Kind::Postgres {
        server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    }
    let reader = server.try_database(&format!("url = '{}'", server.database.reader_url())).unwrap();
    let refused = migrate(&reader).await.unwrap_err().to_string();
    assert!(refused.contains("--url-file"), "{refused}");
}

for_each_kind!(
    two_at_once_make_one_schema,
    the_printed_sql_does_the_same,
    versions_decide_who_may_read,
    the_table_refuses_what_no_lookup_could_return,
    a_reader_may_not_migrate,
);
