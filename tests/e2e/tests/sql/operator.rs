//! `migrate`, `import`, `check-config --open`, `serve`: what they print, and with which code they end.

use credgate_support::database::Database;

use crate::ground::{Ground, Kind, deployment, for_each_kind, run};

async fn from_an_empty_database_to_a_lookup(kind: Kind) {
    let ground = Ground::new(kind);
    let again = ground.run(&["migrate", "--url-file", &ground.owner()]);
    assert!(again.contains("schema version 1 already"), "{again}");
    assert!(ground.run(&["migrate", "--print"]).contains("CREATE TABLE IF NOT EXISTS credgate_nodes"));
    let nodes = ground.deployment.path("nodes.csv").to_str().unwrap().to_owned();
    let replaced = ground.run(&["import", &nodes, "--replace", "--url-file", &ground.owner()]);
    assert!(replaced.contains("10 nodes: 0 inserted, 0 updated, 10 unchanged, 0 removed"), "{replaced}");
    let refused = run(&ground.deployment, &["import", &nodes, "--url-file", &ground.owner()]);
    assert_eq!(refused.exit.code, Some(78), "{}", refused.stderr);
    // The gateway's own role may only read.
    let refused = run(&ground.deployment, &["import", &nodes, "--update"]);
    assert_eq!(refused.exit.code, Some(69), "{}", refused.stderr);
    let good = ground.run(&["check-config", "--open"]);
    assert!(good.contains("the credential store opens"), "{good}");
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), ground.password());
    assert_eq!(client.lookup("02000").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
    ground.database.sql("UPDATE credgate_nodes SET enabled = false WHERE node_id = '2000'");
    assert_eq!(client.lookup("2000").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
    gateway.terminate();
    assert_eq!(gateway.ended(crate::ground::BOUND).await.code, Some(0));
}

async fn every_failure_has_its_code(kind: Kind) {
    let database = Database::start(kind);
    let (scheme, address) = (kind.scheme(), database.address());
    let dead = "127.0.0.1:1";
    for (url, settings, code, wanted) in [
        (database.reader_url(), "", 69, "has no credgate schema"),
        (format!("{scheme}://u:p@{dead}/credgate"), "", 69, "refuses connections"),
        (format!("{scheme}://nobody:p@{address}/credgate"), "", 69, "refuses the login"),
        (database.reader_url(), "query = 'SELECT 1'", 69, "parameter"),
        (format!("{scheme}://u:p@{address}:x/credgate"), "", 78, "port"),
        (format!("{scheme}://{address}/credgate"), "", 78, "names no user"),
        // What follows from lookup.timeout cannot be set against it.
        (database.reader_url(), "statement_timeout = '5s'", 78, "is not a setting"),
        (database.reader_url(), "acquire_timeout = '5s'", 78, "is not a setting"),
    ] {
        let deployment = deployment(&url).merge(&format!("[provider.sql]\n{settings}"));
        for command in [&["check-config", "--open"][..], &["serve"]] {
            let done = run(&deployment, command);
            assert_eq!(done.exit.code, Some(code), "{command:?} {wanted}: {}", done.stderr);
            assert!(done.stderr.contains(wanted), "{command:?}, not {wanted}: {}", done.stderr);
        }
    }
}

for_each_kind!(from_an_empty_database_to_a_lookup, every_failure_has_its_code);
