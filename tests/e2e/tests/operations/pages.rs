//! The statements of the runbook find the rows that they are for, on the servers that they are for.

use credgate_support::database::{Database, Kind};

use crate::ground::text;

#[test]
fn the_runbook_finds_what_cannot_be_handed_out() {
    for (kind, name) in [(Kind::Postgres, "PostgreSQL"), (Kind::MariaDb, "MariaDB")] {
        let database = Database::start(kind);
        database.sql("CREATE TABLE users (name varchar(20), secret varchar(200))");
        let rows = [("good", "a b~!"), ("empty", ""), ("blank", "   "), ("tab", "a\tb"), ("foreign", "café")];
        for (node, secret) in rows.into_iter().chain([("long", "x".repeat(80).as_str()), ("good", "twice")]) {
            database.sql(&format!("INSERT INTO users VALUES ('{node}', '{secret}')"));
        }
        database.sql("INSERT INTO users VALUES ('null', NULL)");
        let found = |statement: &str| {
            let rows = database.sql(statement);
            let mut nodes: Vec<_> = rows.lines().filter_map(|row| row.split('\t').next()).map(str::to_owned).collect();
            nodes.sort();
            nodes
        };
        let runbook = text("docs/runbook.md");
        let mut statements = runbook.lines().map(str::trim).filter(|line| line.starts_with("SELECT "));
        let broken = statements.clone().find(|line| line.ends_with(&format!("-- {name}"))).unwrap();
        assert_eq!(found(broken), ["blank", "empty", "foreign", "long", "null", "tab"], "{name}");
        let twice = statements.find(|line| line.contains("HAVING")).unwrap();
        assert_eq!(found(twice), ["good"], "{name}");
    }
}
