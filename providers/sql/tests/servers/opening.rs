//! What is wrong is said at the start, names the thing, and shows no part of the URL.

use credgate_support::provider::{check, get};
use credgate_support::{canary::Canary, database::READER};

use crate::support::{Kind, Server, for_each_kind};

async fn the_query_is_prepared_at_start(kind: Kind) {
    let server = Server::with_nodes(kind);
    let p = kind.parameter();
    for (query, wanted) in [
        (format!("SELECT node_id, password FROM node WHERE node_id = {p}"), &["node", "cannot be run"][..]),
        (format!("SELECT nodeid AS node_id, password FROM nodes WHERE node_id = {p}"), &["nodeid"]),
        (format!("SELECT node_id, enabled FROM nodes WHERE node_id = {p}"), &["no column password"]),
        (format!("SELECT password FROM nodes WHERE node_id = {p}"), &["no column node_id"]),
        (format!("SELECT node_id, password, password FROM nodes WHERE node_id = {p}"), &["two columns named password"]),
        (format!("SELECT node_id, 5 AS password FROM nodes WHERE node_id = {p}"), &["column password of type", "0123"]),
        (format!("SELECT 1.5 AS node_id, password FROM nodes WHERE node_id = {p}"), &["column node_id of type"]),
        (
            format!("SELECT node_id, password, current_date AS enabled FROM nodes WHERE node_id = {p}"),
            &["column enabled of type"],
        ),
        (format!("SELEC node_id, password FROM nodes WHERE node_id = {p}"), &["cannot be run"]),
        (format!("UPDATE nodes SET password = '' WHERE node_id = {p}"), &["provider.sql.query"]),
        ("SELECT node_id, password FROM nodes".into(), &["parameter", "exactly one"]),
        (
            match kind {
                Kind::Postgres => "SELECT node_id, password FROM nodes WHERE node_id IN ($1, $2)".into(),
                Kind::MariaDb => "SELECT node_id, password FROM nodes WHERE node_id IN (?, ?)".to_owned(),
            },
            &["parameter", "exactly one"],
        ),
    ] {
        let refused = server.try_open(&format!("query = '''{query}'''")).await.err();
        let refused = refused.unwrap_or_else(|| panic!("{query} was taken"));
        assert!(wanted.iter().all(|word| refused.contains(word)), "{query}: {refused}");
        // Where it stands in the configuration: that is what has to be changed.
        assert!(refused.contains("credgate.toml:3: provider.sql.query: "), "{query}: {refused}");
        assert!(!refused.contains(READER), "{refused}");
    }
    if kind == Kind::Postgres {
        server.sql("CREATE TABLE numbers (node_id int, password text)");
        let query = "query = 'SELECT node_id, password FROM numbers WHERE node_id = $1'";
        let refused = server.try_open(query).await.err().unwrap();
        assert!(refused.contains("$1::bigint"), "{refused}");
    }
    // Comments, semicolons, line breaks and common table expressions are the operator's own matter.
    let query = format!(
        "query = '''\nWITH mine AS (SELECT * FROM nodes)\nSELECT * FROM mine WHERE node_id = {p}; -- mine\n'''"
    );
    let query = query.replace("; -- mine", " -- mine");
    let provider = server.open(&query).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    check(&*provider).await.unwrap();
}

/// A right may be granted at any time, without a change of ours: it is the store that refuses us, and the sentence is what
/// its administrator has to type.
async fn a_right_that_is_missing_names_the_grant(kind: Kind) {
    let server = Server::with_nodes(kind);
    let (query, denied) = match kind {
        Kind::Postgres => {
            server.sql(&format!("REVOKE SELECT ON nodes FROM {READER}"));
            (server.query(), "permission denied for table nodes")
        }
        Kind::MariaDb => {
            server.sql("CREATE DATABASE other; CREATE TABLE other.nodes AS SELECT * FROM credgate.nodes");
            (
                server.query().replace("FROM nodes", "FROM other.nodes"),
                "SELECT command denied for table `other`.`nodes`",
            )
        }
    };
    let grant = match kind {
        Kind::Postgres => format!("GRANT SELECT ON nodes TO {READER}"),
        Kind::MariaDb => format!("GRANT SELECT ON `other`.`nodes` TO '{READER}'@'localhost'"),
    };
    let refused = server.try_open(&query).await.err().unwrap();
    let grant = if kind == Kind::MariaDb && refused.contains("@'%'") { grant.replace("localhost", "%") } else { grant };
    assert_eq!(refused, format!("{denied}: {grant}"));
    // The very words, then, are what helps.
    server.sql(&grant);
    let provider = server.open(&query).await;
    assert_eq!(get(&*provider, "2000").await, "secret");
    server.sql(&grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM "));
    let answer = if kind == Kind::MariaDb { server.sql("FLUSH PRIVILEGES") } else { String::new() };
    assert_eq!(answer, "");
    let error = check(&*provider).await.unwrap_err().to_string();
    assert!(error.ends_with(&grant), "{error}");
    assert!(get(&*provider, "2000").await.starts_with("backend unavailable: "));
    server.sql(&grant);
    assert_eq!(get(&*provider, "2000").await, "secret");
}

async fn a_query_that_writes_is_refused(kind: Kind) {
    let server = Server::with_nodes(kind);
    match kind {
        Kind::Postgres => server.sql(
            "CREATE FUNCTION touch(text) RETURNS text LANGUAGE sql AS \
             'UPDATE nodes SET enabled = ''no''; SELECT $1'; GRANT ALL ON nodes TO PUBLIC",
        ),
        Kind::MariaDb => server.sql(&format!(
            "SET GLOBAL log_bin_trust_function_creators = 1; GRANT ALL ON credgate.* TO '{READER}'@'%'; \
             CREATE FUNCTION touch(a varchar(20)) RETURNS varchar(20) NOT DETERMINISTIC MODIFIES SQL DATA \
             RETURN (SELECT a)"
        )),
    };
    if kind == Kind::MariaDb {
        return;
    }
    let query = "query = '''SELECT touch(node_id) AS node_id, password FROM nodes WHERE touch($1) = node_id'''";
    let refused = server.try_open(query).await.err().unwrap();
    assert!(refused.contains("writes"), "{refused}");
    assert_eq!(server.sql("SELECT enabled FROM nodes WHERE node_id = '2000'"), "yes\n");
}

async fn no_part_of_the_url_is_ever_shown(kind: Kind) {
    let server = Server::with_nodes(kind);
    let (scheme, at) = (kind.scheme(), server.database.address());
    let secret = "canary-pass";
    let canary = Canary::new([secret, "canary-user", "canary-name"]);
    let query = server.query();
    let dead = credgate_support::proxy::Proxy::to(at);
    dead.set(credgate_support::proxy::Mode::Refuse);
    for (what, url) in [
        ("wrong host", format!("{scheme}://canary-user:{secret}@host.invalid/credgate?sslmode=disable")),
        ("wrong user", format!("{scheme}://canary-user:{secret}@{at}/credgate")),
        ("wrong password", format!("{scheme}://{READER}:{secret}@{at}/credgate")),
        ("wrong database", format!("{scheme}://{READER}:{}@{at}/canary-name", server.database.password)),
        ("bad TLS", format!("{scheme}://canary-user:{secret}@{at}/credgate?sslmode=verify-full")),
        ("wrong socket", format!("{scheme}://canary-user:{secret}@/credgate?socket=/canary-name/none")),
        ("not a database", format!("{scheme}://canary-user:{secret}@{}/credgate", not_a_database())),
    ] {
        let refused = server.try_open_at(&url, &query).await.err();
        let refused = refused.unwrap_or_else(|| panic!("{what}: it opened"));
        canary.absent_from(what, &refused);
        assert!(!refused.is_empty() && !refused.contains(&server.database.password), "{what}: {refused}");
        println!("{what}: {refused}");
    }
    for malformed in [
        format!("{scheme}:canary-user:{secret}@h/d"),
        format!("{scheme}://canary-user:{secret}/x@h/d"),
        format!("{scheme}://canary-user:{secret}@h:{secret}/d"),
        format!("{scheme}://canary-user:%zz{secret}@h/d"),
        format!("{scheme}://canary-user:{secret}@h/d?{secret}=1"),
        format!("{scheme}://canary-user:{secret}@h/d?sslmode={secret}"),
        format!("{scheme}s://canary-user:{secret}@h/d"),
        format!("canary-user:{secret}@h/d"),
        secret.to_owned(),
    ] {
        let problems = server.prepare(&format!("url = '{malformed}'"));
        let problems = problems.err().unwrap_or_else(|| panic!("{malformed} was understood"));
        canary.absent_from("the problems", &problems.join("\n"));
        std::fs::write(server.folder().join("url"), &malformed).unwrap();
        let problems = server.prepare("url_file = 'url'").err().unwrap();
        canary.absent_from("the problems", &problems.join("\n"));
    }
}

/// Something that listens and hangs up.
fn not_a_database() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    address
}

async fn settings_that_cannot_work_are_problems(kind: Kind) {
    let server = Server::start(kind);
    let url = server.database.reader_url();
    let remote = url.replace("127.0.0.1", "db.example.net");
    std::fs::write(server.folder().join("no.pem"), "no certificate").unwrap();
    for (settings, wanted) in [
        (format!("url = '{remote}'\nca = 'missing.pem'"), "missing.pem cannot be read"),
        (format!("url = '{remote}'\nca = 'no.pem'"), "holds no PEM certificate"),
        (format!("url = '{url}'\nmax_connection_age = '1ms'"), "out of range"),
        (format!("url = '{url}'\nmax_connections = 0"), "out of range"),
        (format!("url = '{url}'\nurl_file = 'x'"), "exactly one"),
        ("url = 'sqlite:nodes.db'\npooler = true".to_owned(), "about database servers"),
    ] {
        let problems = server.prepare(&settings).err().unwrap();
        assert!(problems.iter().any(|problem| problem.contains(wanted)), "{settings}: {problems:?}");
    }
    let pooler = server.prepare(&format!("url = '{url}'\npooler = true"));
    assert_eq!(pooler.is_ok(), kind == Kind::Postgres);
}

async fn the_socket_and_the_name_of_the_program(kind: Kind) {
    let server = Server::with_nodes(kind);
    let provider = server.try_open_at(&server.database.socket_url(), &server.query()).await.unwrap();
    assert_eq!(get(&*provider, "0200").await, "zero");
    assert!(provider.summary().contains(if kind == Kind::Postgres { "PostgreSQL 1" } else { "MariaDB 1" }));
    if kind == Kind::Postgres {
        let name =
            server.sql(&format!("SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = '{READER}'"));
        assert_eq!(name, "credgate\n");
    }
}

for_each_kind!(
    a_right_that_is_missing_names_the_grant,
    the_query_is_prepared_at_start,
    a_query_that_writes_is_refused,
    no_part_of_the_url_is_ever_shown,
    settings_that_cannot_work_are_problems,
    the_socket_and_the_name_of_the_program,
);
