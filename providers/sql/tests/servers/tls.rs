//! TLS to the database: what is verified, and what is said when it is not.

use credgate_support::provider::get;
use credgate_support::{
    database::READER,
    pki::{Ca, Leaf},
};

use crate::support::{Kind, Server, for_each_kind};

fn with_tls(kind: Kind, ca: &Ca) -> Server {
    let certificate = ca.issue(&Leaf::server().dns("localhost"));
    let dir = credgate_support::database::files(&[
        ("server.pem", certificate.chain_pem().as_bytes()),
        ("server.key", certificate.key_pem().as_bytes()),
    ]);
    let (cert, key) = (dir.path().join("server.pem"), dir.path().join("server.key"));
    let (cert, key) = (cert.display(), key.display());
    let server = match kind {
        Kind::Postgres => {
            Server::start_with(kind, &["ssl=on", &format!("ssl_cert_file={cert}"), &format!("ssl_key_file={key}")])
        }
        Kind::MariaDb => Server::start_with(kind, &[&format!("ssl-cert={cert}"), &format!("ssl-key={key}")]),
    };
    server.sql("CREATE TABLE nodes (node_id varchar(20) PRIMARY KEY, password varchar(80), enabled varchar(5))");
    server.sql("INSERT INTO nodes VALUES ('2000', 'secret', 'yes')");
    // The server has read them.
    drop(dir);
    server
}

async fn verified_or_refused(kind: Kind) {
    let ca = Ca::new("database CA");
    let server = with_tls(kind, &ca);
    ca.write(server.folder(), "ca");
    Ca::new("another CA").write(server.folder(), "other");
    let port = server.database.address().port();
    let url = |host: &str, mode: &str| {
        let (scheme, password) = (kind.scheme(), &server.database.password);
        format!("{scheme}://{READER}:{password}@{host}:{port}/credgate?sslmode={mode}")
    };
    let query = server.query();
    for (host, mode, ca, opens) in [
        ("localhost", "verify-full", "ca = 'ca.pem'\n", true),
        ("127.0.0.1", "verify-full", "ca = 'ca.pem'\n", false),
        ("127.0.0.1", "verify-ca", "ca = 'ca.pem'\n", true),
        ("localhost", "verify-full", "ca = 'other.pem'\n", false),
        ("localhost", "verify-full", "", false),
        ("127.0.0.1", "require", "", true),
        ("127.0.0.1", "disable", "", true),
    ] {
        let opened = server.try_open_at(&url(host, mode), &format!("{ca}{query}")).await;
        match opened {
            Ok(provider) => {
                assert!(opens, "{host} {mode} {ca}");
                assert_eq!(get(&*provider, "2000").await, "secret");
                let encrypted = match kind {
                    Kind::Postgres => server.sql(&format!(
                        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '{READER}'"
                    )),
                    Kind::MariaDb => continue,
                };
                assert_eq!(encrypted.trim() == "t", mode != "disable", "{mode}");
            }
            Err(text) => {
                assert!(!opens, "{host} {mode} {ca}: {text}");
                assert!(text.contains("TLS") && text.contains("certificate"), "{host} {mode} {ca}: {text}");
            }
        }
        // Of the statistics, those of this round are gone.
        while server.database.connections() > 0 {
            tokio::task::yield_now().await;
        }
    }
    // Verification that nothing would do is a mistake.
    let problems = server.try_open_at(&url("127.0.0.1", "disable"), "ca = 'ca.pem'").await.err().unwrap();
    assert!(problems.contains("no certificate is verified"), "{problems}");
}

async fn a_server_without_tls(kind: Kind) {
    let server = Server::start(kind);
    let url = format!("{}?sslmode=require", server.database.reader_url());
    let refused = server.try_open_at(&url, "").await.err().unwrap();
    assert!(refused.contains("TLS"), "{refused}");
}

for_each_kind!(verified_or_refused, a_server_without_tls);
