//! A table of ours without a node: refused at the start, and noticed when it becomes so.

use credgate_provider::{NodeIdRule, PasswordRule};
use credgate_sql::{ImportMode, NodeRow, import};
use credgate_support::provider::{check, get};

use crate::support::{Kind, Server, for_each_kind};

const WANTED: &str = "credgate_nodes holds no node";

async fn at_the_start_and_later(kind: Kind) {
    let server = Server::migrated(kind).await;
    let refused = server.try_open("").await.err().unwrap();
    assert!(refused.starts_with(WANTED) && refused.contains("`credgate import`"), "{refused}");
    let provider = server.open("allow_empty = true").await;
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "2000").await, "no such node");

    server.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'secret')");
    let provider = server.open("").await;
    check(&*provider).await.unwrap();
    assert_eq!(get(&*provider, "4711").await, "no such node");
    server.sql("DELETE FROM credgate_nodes");
    let error = check(&*provider).await.unwrap_err().to_string();
    assert!(error.starts_with("backend unavailable") && error.contains(WANTED), "{error}");
    for node in ["2000", "4711"] {
        let answer = get(&*provider, node).await;
        assert!(answer.starts_with("backend unavailable: credgate_nodes holds no node"), "{answer}");
    }
    server.sql("INSERT INTO credgate_nodes (node_id, password) VALUES ('2000', 'again')");
    assert_eq!(get(&*provider, "2000").await, "again");
    assert_eq!(get(&*provider, "4711").await, "no such node");
    check(&*provider).await.unwrap();
}

/// A table of wholly other nodes takes the place of the old one: there is no moment without any.
async fn a_replacement_is_never_seen_empty(kind: Kind) {
    let server = Server::migrated(kind).await;
    let table = |from: usize| -> Vec<NodeRow> {
        let row = |index| NodeRow {
            line: index,
            node_id: NodeIdRule::default().parse(&index.to_string()).unwrap(),
            password: PasswordRule::default().parse(b"secret").ok(),
            enabled: true,
        };
        (from..from + 5000).map(row).collect()
    };
    let owner = server.owner();
    import(&owner, &table(10_000), ImportMode::Insert, &mut |_| {}).await.unwrap();
    let provider = server.open("").await;
    for round in 0..4 {
        let (old, new) = if round % 2 == 0 { (10_000, 20_000) } else { (20_000, 10_000) };
        let (rows, mut nothing) = (table(new), |_| {});
        let mut importing = Box::pin(import(&owner, &rows, ImportMode::Replace, &mut nothing));
        let done = loop {
            tokio::select! {
                done = &mut importing => break done.unwrap(),
                // As the periodic check does: it never finds the table empty.
                checked = check(&*provider) => checked.unwrap(),
            }
        };
        assert_eq!((done.inserted, done.removed), (5000, 5000));
        assert_eq!(get(&*provider, &old.to_string()).await, "no such node");
        assert_eq!(get(&*provider, &new.to_string()).await, "secret");
    }
}

for_each_kind!(at_the_start_and_later, a_replacement_is_never_seen_empty);
