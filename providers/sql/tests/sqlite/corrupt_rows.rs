//! The statement of `docs/sql.md` that lists corrupt rows, word for word: it lists the very nodes whose lookup is one.

use credgate_support::provider::get;

use crate::support::{QUERY, Store};

const PAGE: &str = include_str!("../../../../docs/sql.md");

/// Node, password and enabled as SQL, and what the statement says of it.
const ROWS: [(&str, &str, &str, Option<&str>); 17] = [
    ("good", "'secret'", "'yes'", None),
    ("bytes", "x'626C6F62'", "1", None),
    ("off", "''", "0", None),
    ("none", "NULL", "1", Some("password")),
    ("empty", "''", "'TRUE'", Some("password")),
    ("spaces", "'  '", "1", Some("password")),
    ("zero", "'se' || char(0) || 'cret'", "1", Some("password")),
    ("accent", "'é'", "1", Some("password")),
    ("latin", "x'E9'", "1", Some("password")),
    ("number", "123", "1", Some("password")),
    ("longest", "hex(zeroblob(39)) || 'a'", "1", None),
    ("long", "hex(zeroblob(40))", "1", Some("password")),
    ("on", "'p'", "'on'", Some("enabled")),
    ("half", "'p'", "0.5", Some("enabled")),
    ("unsaid", "'p'", "NULL", Some("enabled")),
    ("twice", "'p'", "1", Some("two or more rows")),
    ("twice", "'p'", "0", Some("two or more rows")),
];

#[tokio::test]
async fn the_statement_lists_what_lookups_call_corrupt() {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with("    -- SQLite"));
    let statement: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
    let statement = statement.join("\n");
    // No type for the password: each value stays what it is.
    let store = Store::with("CREATE TABLE nodes (node_id TEXT, password, enabled)");
    for (node, password, enabled, _) in ROWS {
        store.sql(&format!("INSERT INTO nodes VALUES ('{node}', {password}, {enabled})"));
    }
    let of_nodes = statement.replace("credgate_nodes", "nodes");
    let listed = store.sql(&of_nodes);
    let provider = store.open(QUERY).await;
    for (node, _, _, wanted) in ROWS {
        let why =
            listed.lines().filter_map(|line| line.split_once('|')).find(|(id, _)| *id == node).map(|(_, why)| why);
        let answer = get(&*provider, node).await;
        assert_eq!(answer.starts_with("corrupt record"), wanted.is_some(), "{node}: {answer}");
        assert_eq!(why, wanted, "{node}: {listed}");
    }
    store.sql("INSERT INTO nodes VALUES (NULL, 'p', 1)");
    assert!(store.sql(&of_nodes).contains("no node ID"));
    // credgate's own schema, as it stands.
    let store = Store::migrated().await;
    store.sql("INSERT INTO credgate_nodes (node_id, password, enabled) VALUES ('1', 'p', 1), ('2', NULL, 0)");
    assert_eq!(store.sql(&statement), "");
}
