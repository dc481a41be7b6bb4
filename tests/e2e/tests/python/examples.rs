//! The three examples of the README for authors, as they stand, each against a backend that works, fails and returns.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    thread,
};

use credgate_support::{canary::Canary, deployment::Deployment, python::Python};

use crate::ground::{BOUND, ending, registrar, stopped};

const OUTAGE: &str = "UNAVAILABLE BACKEND_UNAVAILABLE";
const NOT_FOUND: &str = "NOT_FOUND NODE_NOT_FOUND";

fn example(name: &str) -> Deployment {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../providers/python/examples").join(name);
    Deployment::mtls().with_python(&fs::read_to_string(file).unwrap())
}

#[tokio::test]
async fn a_json_file() {
    let deployment = example("json_file.py")
        .merge("[provider.python]\nconfig = { file = 'FILE' }")
        .with_file("nodes.json", r#"{"2000": {"password": "first-one"}, "2001": {"password": "x", "enabled": false}}"#);
    let file = deployment.path("nodes.json");
    let deployment = deployment.set("provider.python.config.file", file.to_str().unwrap());
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), "first-one");
    assert_eq!(ending(&client, "2001").await, NOT_FOUND);
    assert_eq!(ending(&client, "02000").await, NOT_FOUND);
    gateway.log.wait_for(|line| line.says("plugin") && line.field("text") == Some("2 nodes read"), BOUND);

    let away = deployment.path("away.json");
    fs::rename(&file, &away).unwrap();
    assert_eq!(ending(&client, "2000").await, OUTAGE);
    fs::write(&away, r#"{"2000": {"password": "second-one"}}"#).unwrap();
    fs::rename(&away, &file).unwrap();
    assert_eq!(client.lookup("2000").await.unwrap(), "second-one");
    assert_eq!(ending(&client, "2001").await, NOT_FOUND);
}

#[tokio::test]
async fn a_rest_service_with_finite_timeouts() {
    let service = Service::start();
    let deployment = example("rest.py")
        .merge(&format!("[provider.python]\nconfig = {{ url = 'http://{}/v1', timeout = 0.5 }}", service.address))
        .merge("[provider.python.secret_files]\ntoken = 'accounts.token'")
        .merge("[health]\ninterval = '30m'\nmax_age = '1h'")
        .set("lookup.timeout", "20s")
        .with_file("accounts.token", "secret-canary\n");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for _ in 0..5 {
        assert_eq!(client.lookup("2000").await.unwrap(), "rest-password");
    }
    assert_eq!(ending(&client, "2001").await, NOT_FOUND, "disabled");
    assert_eq!(ending(&client, "1999").await, NOT_FOUND, "404");
    for (status, outage) in [(500, OUTAGE), (401, OUTAGE), (Service::SILENT, OUTAGE), (Service::CLOSING, OUTAGE)] {
        service.mood.store(status, Ordering::Relaxed);
        assert_eq!(ending(&client, "2000").await, outage, "{status}");
        assert_eq!(ending(&client, "1999").await, outage, "{status}");
        service.mood.store(200, Ordering::Relaxed);
        // A gateway that has noticed an outage tries again a little later.
        while ending(&client, "2000").await != "OK" {}
    }
    Canary::new(["secret-canary", "rest-password"]).absent_from("the log", &stopped(&gateway, 0).await);
}

#[tokio::test]
async fn a_table_through_sqlalchemy_in_a_venv() {
    let python = Python::with(&["SQLAlchemy>=2,<3"]);
    let venv = Path::new(python.command().get_program()).parent().unwrap().parent().unwrap().to_owned();
    let deployment = example("sqlalchemy_table.py");
    let database = deployment.path("nodes.db");
    let sql = |text: &str| {
        let script =
            "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).executescript(sys.argv[2])";
        let finished = python.run_text(script, [database.to_str().unwrap(), text], BOUND);
        assert_eq!(finished.exit.code, Some(0), "{finished:?}");
    };
    sql("CREATE TABLE nodes (node_id TEXT, password TEXT, enabled INTEGER); INSERT INTO nodes VALUES \
        ('2000', 'table-password', 1), ('2001', 'x', 0), ('2002', 'x', NULL), ('2003', 'x', 1), ('2003', 'x', 1)");
    let deployment = deployment
        .merge(
            "[provider.python.config]\nquery = 'SELECT node_id, password, enabled FROM nodes WHERE node_id = :node_id'",
        )
        .merge("[provider.python]\nworkers = 8\nsecret_files = { url = 'database.url' }")
        .set("provider.python.venv", venv.to_str().unwrap())
        .with_file("database.url", format!("sqlite:///{}\n", database.display()));
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for (node, ended) in [
        ("2000", "OK"),
        ("02000", NOT_FOUND),
        ("2001", NOT_FOUND),
        ("2002", "INTERNAL CORRUPT_RECORD"),
        ("2003", "INTERNAL CORRUPT_RECORD"),
    ] {
        assert_eq!(ending(&client, node).await, ended, "{node}");
    }
    assert_eq!(client.lookup("2000").await.unwrap(), "table-password");
    sql("ALTER TABLE nodes RENAME TO away");
    assert_eq!(ending(&client, "2000").await, OUTAGE);
    sql("ALTER TABLE away RENAME TO nodes");
    while ending(&client, "2000").await != "OK" {}
    let log = stopped(&gateway, 0).await;
    Canary::new(["table-password"]).absent_from("the log", &log);
    assert!(log.contains(venv.to_str().unwrap()), "{log}");
}

/// An account service of three nodes that can be in several moods.
struct Service {
    address: std::net::SocketAddr,
    /// The status of every answer, or one of the two below.
    mood: Arc<AtomicU16>,
}

impl Service {
    /// Takes requests and answers none.
    const SILENT: u16 = 0;
    /// Closes every connection it was asked on.
    const CLOSING: u16 = 1;

    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Self { address: listener.local_addr().unwrap(), mood: Arc::new(AtomicU16::new(200)) };
        let mood = Arc::clone(&service.mood);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mood = Arc::clone(&mood);
                thread::spawn(move || serve(&stream, &mood));
            }
        });
        service
    }
}

/// Ends with the connection; `None` is the usual way.
fn serve(stream: &TcpStream, mood: &AtomicU16) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let request = lines.next()?.ok()?;
        let mut authorised = false;
        for line in lines.by_ref() {
            let line = line.ok()?;
            authorised |= line == "Authorization: Bearer secret-canary";
            if line.is_empty() {
                break;
            }
        }
        assert!(authorised, "the secret file's content is the token");
        let status = mood.load(Ordering::Relaxed);
        let (status, body) = match (status, request.split(' ').nth(1)?) {
            (Service::SILENT, _) => continue,
            (Service::CLOSING, _) => return None,
            (200, "/v1/nodes/2000") => (200, r#"{"node_id": "2000", "password": "rest-password", "enabled": true}"#),
            (200, "/v1/nodes/2001") => (200, r#"{"node_id": "2001", "password": "x", "enabled": false}"#),
            (200, "/v1/health") => (200, "{}"),
            (200, _) => (404, ""),
            (status, _) => (status, "not JSON"),
        };
        let mut stream = stream;
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok()?;
    }
}
