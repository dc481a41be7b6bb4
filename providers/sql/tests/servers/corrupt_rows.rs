//! The statements of `docs/sql.md` that list corrupt rows, word for word: they list the very nodes whose lookup is one.

use credgate_support::provider::get;

use crate::support::{Kind, Server, for_each_kind};

const PAGE: &str = include_str!("../../../../docs/sql.md");

/// Node, password and enabled as SQL, and what the statement says of it.
const ROWS: [(&str, &str, &str, Option<&str>); 15] = [
    ("good", "'secret'", "'yes'", None),
    ("blank", "' a ~ '", "'TRUE'", None),
    ("off", "''", "'0'", None),
    ("none", "NULL", "'1'", Some("password")),
    ("empty", "''", "'true'", Some("password")),
    ("spaces", "'  '", "'1'", Some("password")),
    ("tab", "'a\tb'", "'1'", Some("password")),
    ("accent", "'é'", "'1'", Some("password")),
    ("longest", "repeat('a', 79)", "'1'", None),
    ("long", "repeat('a', 80)", "'1'", Some("password")),
    ("on", "'p'", "'on'", Some("enabled")),
    ("unsaid", "'p'", "NULL", Some("enabled")),
    ("twice", "'p'", "'1'", Some("two or more rows")),
    ("twice", "'p'", "'0'", Some("two or more rows")),
    ("Twice", "'p'", "'1'", None),
];

/// The statement below this comment.
fn statement(of: &str) -> String {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with(&format!("    -- {of}")));
    let statement: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
    assert!(!statement.is_empty(), "docs/sql.md has no statement for {of}");
    statement.join("\n")
}

async fn the_statement_lists_what_lookups_call_corrupt(kind: Kind) {
    let server = Server::start(kind);
    server.sql("CREATE TABLE nodes (node_id varchar(20), password varchar(200), enabled varchar(10))");
    for (node, password, enabled, _) in ROWS {
        server.sql(&format!("INSERT INTO nodes VALUES ('{node}', {password}, {enabled})"));
    }
    let of = if kind == Kind::Postgres { "PostgreSQL" } else { "MySQL" };
    let statement = statement(of).replace("credgate_nodes", "nodes");
    let listed = server.sql(&statement);
    let parameter = kind.parameter();
    let query = format!("query = 'SELECT node_id, password, enabled FROM nodes WHERE node_id = {parameter}'");
    let provider = server.open(&query).await;
    for (node, _, _, wanted) in ROWS {
        let why: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter(|(id, _)| *id == node)
            .map(|(_, why)| why)
            .collect();
        let answer = get(&*provider, node).await;
        assert_eq!(answer.starts_with("corrupt record"), wanted.is_some(), "{node}: {answer}");
        assert_eq!(why.first().copied(), wanted, "{node}: {listed}");
    }
    server.sql("INSERT INTO nodes VALUES (NULL, 'p', '1')");
    assert!(server.sql(&statement).contains("no node ID"));
    // credgate's own schema, as it stands.
    credgate_sql::migrate(&server.owner()).await.unwrap();
    server.sql("INSERT INTO credgate_nodes (node_id, password, enabled) VALUES ('1', 'p', true), ('2', NULL, false)");
    assert_eq!(server.sql(&self::statement(of)), "");
}

for_each_kind!(the_statement_lists_what_lookups_call_corrupt);
