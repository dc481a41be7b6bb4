//! Types of columns, and what a lookup makes of their values.

use credgate_support::provider::{check, get};

use crate::support::{Kind, Server, for_each_kind};

/// A table whose columns have these types, one node in it, and the answer to it.
async fn stored(server: &Server, types: [&str; 3], values: [&str; 3], compare: &str) -> String {
    server.sql("DROP TABLE IF EXISTS nodes");
    let [node_id, password, enabled] = types;
    server.sql(&format!("CREATE TABLE nodes (node_id {node_id}, password {password}, enabled {enabled})"));
    server.sql(&format!("INSERT INTO nodes VALUES ({})", values.join(", ")));
    let query = format!("query = '''SELECT node_id, password, enabled FROM nodes WHERE {compare}'''");
    let provider = server.open(&query).await;
    check(&*provider).await.unwrap();
    let answer = get(&*provider, "0200").await;
    provider.close().await;
    answer
}

async fn every_type_of_text(kind: Kind) {
    let server = Server::start(kind);
    let (texts, bytes, parameter) = match kind {
        Kind::Postgres => (&["text", "varchar(20)", "char(20)", "name"][..], "bytea", "$1"),
        Kind::MariaDb => {
            (&["text", "varchar(20)", "char(20)", "varchar(20) COLLATE utf8mb4_bin", "binary(20)"][..], "blob", "?")
        }
    };
    let compare = format!("node_id = {parameter}");
    for text in texts {
        let compare = if *text == "binary(20)" { "node_id = RPAD(?, 20, '\\0')" } else { &compare };
        let answer = stored(&server, [text, text, "varchar(5)"], ["'0200'", "'secret'", "'yes'"], compare).await;
        assert_eq!(answer, "secret", "{text}");
    }
    let compare = if kind == Kind::Postgres { "node_id = convert_to($1, 'UTF8')" } else { &compare };
    let answer = stored(&server, [bytes, bytes, "varchar(5)"], ["'0200'", "'secret'", "'YES'"], compare).await;
    assert_eq!(answer, "secret");
}

async fn every_type_of_enabled(kind: Kind) {
    let server = Server::start(kind);
    let compare = format!("node_id = {}", kind.parameter());
    let common =
        [("smallint", "1", "0"), ("bigint", "1", "0"), ("varchar(5)", "'True'", "'no'"), ("boolean", "true", "false")];
    let own = match kind {
        Kind::Postgres => [("bit(1)", "B'1'", "B'0'"), ("char(3)", "'yes'", "'no'"), ("text", "'1'", "'0'")],
        Kind::MariaDb => {
            [("bit(1)", "b'1'", "b'0'"), ("tinyint(4) unsigned", "1", "0"), ("enum('yes','no')", "'yes'", "'no'")]
        }
    };
    for (enabled, on, off) in common.into_iter().chain(own) {
        for (value, wanted) in [(on, "secret"), (off, "no such node")] {
            let answer =
                stored(&server, ["varchar(9)", "text", enabled], ["'0200'", "'secret'", value], &compare).await;
            assert_eq!(answer, wanted, "{enabled} {value}");
        }
        let answer = stored(&server, ["varchar(9)", "text", enabled], ["'0200'", "'secret'", "NULL"], &compare).await;
        assert!(answer.starts_with("corrupt record"), "{enabled} NULL: {answer}");
    }
    let answer = stored(&server, ["varchar(9)", "text", "smallint"], ["'0200'", "'secret'", "2"], &compare).await;
    assert!(answer.starts_with("corrupt record"), "{answer}");
}

async fn a_node_is_its_own_text(kind: Kind) {
    let server = Server::start(kind);
    let integer = if kind == Kind::Postgres { "node_id = $1::bigint" } else { "node_id = ?" };
    for kind in ["int", "bigint"] {
        let answer = stored(&server, [kind, "text", "smallint"], ["200", "'secret'", "1"], integer).await;
        assert_eq!(answer, "no such node", "0200 is not 200");
    }
    let equal = format!("node_id = {}", kind.parameter());
    for (value, what) in [("'0200 '", "a blank more"), ("'200'", "another number")] {
        let answer = stored(&server, ["varchar(9)", "text", "smallint"], [value, "'secret'", "1"], &equal).await;
        assert_eq!(answer, "no such node", "{what}");
    }
    // A collation that takes two spellings for one returns both; one of them is the node.
    let query = match kind {
        Kind::Postgres => "SELECT node_id, password FROM nodes WHERE lower(node_id) = lower($1)",
        Kind::MariaDb => "SELECT node_id, password FROM nodes WHERE node_id = ?",
    };
    server.sql("DROP TABLE nodes; CREATE TABLE nodes (node_id varchar(9), password text)");
    server.sql("INSERT INTO nodes VALUES ('Alice', 'upper'), ('alice', 'lower')");
    let provider = server.open(&format!("query = '{query}'")).await;
    assert_eq!(get(&*provider, "alice").await, "lower");
    assert_eq!(get(&*provider, "Alice").await, "upper");
    assert_eq!(get(&*provider, "ALICE").await, "no such node");
}

async fn corrupt_rows_are_never_an_answer(kind: Kind) {
    let server = Server::start(kind);
    server.sql("CREATE TABLE nodes (node_id varchar(9), password text)");
    server.sql("INSERT INTO nodes VALUES ('1', NULL), ('2', ''), ('3', '  '), ('4', 'é'), ('5', 'a'), ('5', 'a')");
    let parameter = kind.parameter();
    let provider =
        server.open(&format!("query = 'SELECT node_id, password FROM nodes WHERE node_id = {parameter}'")).await;
    for node in ["1", "2", "3", "4", "5"] {
        let answer = get(&*provider, node).await;
        assert!(answer.starts_with("corrupt record"), "{node}: {answer}");
    }
    assert_eq!(get(&*provider, "6").await, "no such node");
    // An aggregate has a row for everything: it does not say "unknown".
    let query = format!(
        "query = 'SELECT max(node_id) AS node_id, max(password) AS password FROM nodes WHERE node_id = {parameter}'"
    );
    let provider = server.open(&query).await;
    assert!(get(&*provider, "6").await.starts_with("corrupt record"));
    // Without a WHERE every row is returned; the connection is not read to its end, and the next lookup is right.
    server.sql("DELETE FROM nodes; INSERT INTO nodes VALUES ('7', 'seven'), ('8', 'eight'), ('8', 'eight')");
    let query = format!("query = 'SELECT node_id, password FROM nodes WHERE {parameter} IS NOT NULL'");
    let provider = server.open(&query).await;
    assert!(get(&*provider, "8").await.starts_with("corrupt record"));
    assert_eq!(get(&*provider, "7").await, "seven");
}

/// A value that no password can have is told to be one, and not carried over first.
async fn a_value_of_many_megabytes_is_corrupt(kind: Kind) {
    let server = Server::start(kind);
    let (text, bytes) = if kind == Kind::Postgres { ("text", "bytea") } else { ("longtext", "longblob") };
    for (column, value) in [(text, "repeat('a', 8000000)"), (bytes, "repeat('a', 8000000)")] {
        let value = if column == "bytea" { format!("convert_to({value}, 'UTF8')") } else { value.to_owned() };
        let equal = format!("node_id = {}", kind.parameter());
        let answer = stored(&server, ["varchar(9)", column, "smallint"], ["'0200'", &value, "1"], &equal).await;
        assert!(answer.starts_with("corrupt record: the password is longer than"), "{column}: {answer}");
    }
}

async fn changes_of_rows_and_tables_are_seen_at_once(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.open(&server.query()).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    server.sql("UPDATE nodes SET password = 'other' WHERE node_id = '2000'");
    assert_eq!(get(&*provider, "2000").await, "other");
    // The prepared statement is void, and the lookup is repeated.
    server.sql("ALTER TABLE nodes ADD COLUMN first text");
    assert_eq!(get(&*provider, "2000").await, "other");
    server.sql(match kind {
        Kind::Postgres => "ALTER TABLE nodes ALTER COLUMN password TYPE char(40)",
        Kind::MariaDb => "ALTER TABLE nodes MODIFY password char(40)",
    });
    assert_eq!(get(&*provider, "2000").await, "other");
    server.sql("ALTER TABLE nodes RENAME TO away");
    let answer = get(&*provider, "2000").await;
    assert!(answer.starts_with("backend unavailable") && answer.contains("nodes"), "{answer}");
    assert!(check(&*provider).await.is_err());
    server.sql("ALTER TABLE away RENAME TO nodes");
    assert_eq!(get(&*provider, "2000").await, "other");
    check(&*provider).await.unwrap();
}

for_each_kind!(
    every_type_of_text,
    every_type_of_enabled,
    a_node_is_its_own_text,
    corrupt_rows_are_never_an_answer,
    a_value_of_many_megabytes_is_corrupt,
    changes_of_rows_and_tables_are_seen_at_once,
);
