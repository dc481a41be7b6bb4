//! `credgate import` on a server: all rows or none.

use std::time::Instant;

use credgate_provider::{NodeIdRule, PasswordRule};
use credgate_sql::{ImportError, ImportMode, Imported, NodeRow, import};
use credgate_support::provider::get;

use crate::support::{Kind, Server, for_each_kind};

fn row(line: usize, node: &str, password: &str) -> NodeRow {
    NodeRow {
        line,
        node_id: NodeIdRule::default().parse(node).unwrap(),
        password: PasswordRule::default().parse(password.as_bytes()).ok(),
        enabled: !password.is_empty(),
    }
}

async fn all_or_none(kind: Kind) {
    let server = Server::migrated(kind).await;
    let owner = server.owner();
    let run = |rows: Vec<NodeRow>, mode| {
        let owner = owner.clone();
        async move { import(&owner, &rows, mode, &mut |_| {}).await }
    };
    let awkward = r#"a\b'"%_$1?\N ; -- ~"#;
    let rows = || vec![row(2, "2000", awkward), row(3, "0200", "zero"), row(4, "2001", "")];
    let done = run(rows(), ImportMode::Insert).await.unwrap();
    assert_eq!(done, Imported { inserted: 3, ..Imported::default() });
    let provider = server.open("").await;
    assert_eq!(get(&*provider, "2000").await, awkward);
    assert_eq!(get(&*provider, "0200").await, "zero");
    assert_eq!(get(&*provider, "200").await, "no such node");
    assert_eq!(get(&*provider, "2001").await, "no such node");

    match run(vec![row(2, "3000", "new"), row(3, "2000", "x")], ImportMode::Insert).await {
        Err(ImportError::Exist { lines }) => assert_eq!(lines, [3]),
        other => panic!("{other:?}"),
    }
    assert_eq!(get(&*provider, "3000").await, "no such node");

    let more = vec![row(2, "3000", "new"), row(3, "2000", "changed"), row(4, "0200", "zero")];
    let done = run(more, ImportMode::Update).await.unwrap();
    assert_eq!(done, Imported { inserted: 1, updated: 1, unchanged: 1, removed: 0 });
    assert_eq!(get(&*provider, "2000").await, "changed");

    let done = run(rows(), ImportMode::Replace).await.unwrap();
    assert_eq!(done, Imported { inserted: 0, updated: 1, unchanged: 2, removed: 1 });
    assert_eq!(get(&*provider, "3000").await, "no such node");
    assert_eq!(get(&*provider, "2000").await, awkward);
    let done = run(rows(), ImportMode::Replace).await.unwrap();
    assert_eq!(done, Imported { unchanged: 3, ..Imported::default() });
}

/// What the server refuses at the end leaves nothing behind, however many rows were fine.
async fn a_row_that_the_table_refuses_undoes_all(kind: Kind) {
    let server = Server::migrated(kind).await;
    server.sql("ALTER TABLE credgate_nodes ADD CONSTRAINT picky CHECK (node_id <> '5999')");
    let rows: Vec<NodeRow> = (0..4000).map(|index| row(index + 2, &(2000 + index).to_string(), "secret")).collect();
    assert!(import(&server.owner(), &rows, ImportMode::Update, &mut |_| {}).await.is_err());
    assert_eq!(server.sql("SELECT count(*) FROM credgate_nodes"), "0\n");
}

async fn a_million_rows(kind: Kind) {
    let server = Server::migrated(kind).await;
    let rows: Vec<NodeRow> =
        (0..1_000_000).map(|index| row(index + 2, &index.to_string(), "0123456789abcdef")).collect();
    for mode in [ImportMode::Insert, ImportMode::Replace] {
        let began = Instant::now();
        let done = import(&server.owner(), &rows, mode, &mut |_| {}).await.unwrap();
        println!("{kind:?}, {mode:?}: {:.1} s, {done:?}", began.elapsed().as_secs_f64());
    }
    assert_eq!(server.sql("SELECT count(*) FROM credgate_nodes"), "1000000\n");
}

for_each_kind!(all_or_none, a_row_that_the_table_refuses_undoes_all);

#[tokio::test]
#[ignore = "takes a minute: cargo test -p credgate-sql --release -- --ignored a_million_rows --nocapture"]
async fn a_million_rows_into_each() {
    for kind in Kind::ALL {
        a_million_rows(kind).await;
    }
}
