//! `migrate`, `import`, `check-config --open`, `serve`: what they print, and with which code they end.

use credgate_client::ServingStatus;
use credgate_support::{
    database::{Database, READER},
    grpc::Client,
};

use crate::ground::{BOUND, Ground, Kind, UNAVAILABLE, deployment, for_each_kind, run};

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
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}

async fn every_failure_has_its_code(kind: Kind) {
    let database = Database::start(kind);
    let (scheme, address) = (kind.scheme(), database.address());
    database.sql("CREATE TABLE nodes (node_id varchar(20), password varchar(80)); CREATE TABLE n (x int)");
    let hidden = match kind {
        Kind::Postgres => {
            database.sql(&format!("REVOKE ALL ON n FROM {READER}"));
            "query = 'SELECT $1 AS node_id, x::text AS password FROM n'"
        }
        Kind::MariaDb => "query = 'SELECT ? AS node_id, user AS password FROM mysql.user'",
    };
    let p = kind.parameter();
    let missing = format!("query = 'SELECT node_id, password FROM node WHERE node_id = {p}'");
    let column = format!("query = 'SELECT node_id, secret AS password FROM nodes WHERE node_id = {p}'");
    let number = format!("query = 'SELECT node_id, 7 AS password FROM nodes WHERE node_id = {p}'");
    let dead = "127.0.0.1:1";
    for (url, settings, code, wanted) in [
        (database.reader_url(), "", 69, "has no credgate schema"),
        (format!("{scheme}://u:p@{dead}/credgate"), "", 69, "refuses connections"),
        (format!("{scheme}://nobody:p@{address}/credgate"), "", 69, "refuses the login"),
        // What is wrong with a query is mended in the configuration; starting again mends nothing.
        (database.reader_url(), "query = 'SELECT 1'", 78, "parameter"),
        (database.reader_url(), &*missing, 78, "provider.sql.query: cannot be run"),
        (database.reader_url(), &*column, 78, "secret"),
        (database.reader_url(), &*number, 78, "column password of type"),
        // A right is granted by somebody else, who is told what to type.
        (database.reader_url(), hidden, 69, "GRANT SELECT ON"),
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

/// Nothing starts on a table without a node, and one that loses its nodes is an outage, not a network without nodes.
async fn a_table_without_nodes(kind: Kind) {
    let ground = Ground::new(kind);
    let gateway = ground.deployment.start();
    let client = ground.client(&gateway).await;
    let probe = Client::open(&ground.deployment, gateway.control, &ground.deployment.probe).await;
    let mut readiness = probe.watch("readiness").await.unwrap();
    readiness.until(ServingStatus::Serving, BOUND).await;
    ground.database.sql("DELETE FROM credgate_nodes");
    readiness.until(ServingStatus::NotServing, BOUND).await;
    for node in ["2000", "4711"] {
        assert_eq!(client.lookup(node).await.unwrap_err(), UNAVAILABLE[0], "{node}");
    }
    for command in [&["check-config", "--open"][..], &["serve"]] {
        let done = run(&ground.deployment, command);
        assert_eq!(done.exit.code, Some(69), "{command:?}: {}", done.stderr);
        assert!(done.stderr.contains("credgate_nodes holds no node"), "{command:?}: {}", done.stderr);
        assert!(done.stderr.contains("credgate import"), "{command:?}: {}", done.stderr);
    }
    let nodes = ground.deployment.path("nodes.csv").to_str().unwrap().to_owned();
    ground.run(&["import", &nodes, "--url-file", &ground.owner()]);
    readiness.until(ServingStatus::Serving, BOUND).await;
    assert_eq!(client.lookup("2000").await.unwrap(), ground.password());
    assert_eq!(client.lookup("4711").await.unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
}

for_each_kind!(from_an_empty_database_to_a_lookup, every_failure_has_its_code, a_table_without_nodes);
