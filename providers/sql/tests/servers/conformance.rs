//! The suite that judges every provider, on credgate's own schema and on a query over another program's table.

use std::{
    fmt::Write,
    sync::{Arc, OnceLock},
};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Store, Subject, assert_conforms};
use credgate_provider::{BoxFuture, Provider, Site};
use credgate_sql::SqlKind;
use credgate_support::{
    database::READER,
    provider,
    proxy::{Mode, Proxy},
};
use futures::FutureExt;

use crate::support::{Kind, Server, for_each_kind};

/// All stores of a run stand on one server, one after the other.
struct Judged {
    own_schema: bool,
    server: Arc<Server>,
    migrated: OnceLock<()>,
}

struct Opened {
    server: Arc<Server>,
    proxy: Proxy,
    provider: Box<dyn Provider>,
    slots: usize,
    table: &'static str,
}

impl Judged {
    fn new(kind: Kind, own_schema: bool) -> Self {
        let server = Server::start(kind);
        if !own_schema {
            // What MariaDB cannot store as text it cuts off without a word.
            let bytes = if kind == Kind::Postgres { "varchar" } else { "varbinary" };
            server
                .sql(&format!("CREATE TABLE nodes (node_id varchar(64), password {bytes}(300), enabled varchar(10))"));
            server.sql("CREATE TABLE busy (yes int)");
        }
        Self { own_schema, server: Arc::new(server), migrated: OnceLock::new() }
    }

    fn settings(&self) -> String {
        if self.own_schema {
            return "max_connections = 8\nallow_empty = true".into();
        }
        let (parameter, nap) = match self.server.database.kind {
            Kind::Postgres => ("$1", "(SELECT true FROM pg_sleep(30 + length(node_id)))"),
            Kind::MariaDb => ("?", "sleep(30) IS NOT NULL"),
        };
        // Only lookups are held up: the check asks for node 0.
        format!(
            "max_connections = 8\nquery = '''SELECT node_id, password, enabled FROM nodes WHERE node_id = {parameter} \
             AND (NOT EXISTS (SELECT 1 FROM busy) OR {nap})'''"
        )
    }

    fn fill(&self, table: &str, rows: &[Row]) -> Result<(), NotApplicable> {
        let kind = self.server.database.kind;
        if kind == Kind::Postgres {
            let holds = |bytes: &Vec<u8>| std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0);
            if rows.iter().filter_map(|row| row.password.as_ref()).any(|bytes| !holds(bytes)) {
                return Err(NotApplicable("text of PostgreSQL is UTF-8 without zero bytes"));
            }
        }
        let mut script = match kind {
            Kind::Postgres => format!("BEGIN; DELETE FROM {table};"),
            Kind::MariaDb => {
                format!("SET SESSION check_constraint_checks = 0; SET sql_mode = ''; BEGIN; DELETE FROM {table};")
            }
        };
        for row in rows {
            let password = row.password.as_ref().map_or("NULL".to_owned(), |bytes| {
                let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
                    write!(hex, "{byte:02x}").unwrap();
                    hex
                });
                match kind {
                    Kind::Postgres => format!("convert_from('\\x{hex}', 'UTF8')"),
                    Kind::MariaDb => format!("X'{hex}'"),
                }
            });
            let enabled = row.enabled.as_ref().map_or("NULL".to_owned(), |word| format!("'{word}'"));
            let enabled = match (self.own_schema, kind) {
                (true, Kind::MariaDb) => format!("({enabled} = 'true' OR {enabled} = 'yes' OR {enabled} = '1')"),
                _ => enabled,
            };
            let node_id = &row.node_id;
            write!(
                script,
                "INSERT INTO {table} (node_id, password, enabled) VALUES ('{node_id}', {password}, {enabled});"
            )
            .unwrap();
        }
        self.server.sql(&(script + "COMMIT;"));
        Ok(())
    }

    fn takes(&self, rows: &[Row]) -> Result<(), NotApplicable> {
        if !self.own_schema {
            return Ok(());
        }
        if rows.iter().enumerate().any(|(at, row)| rows[..at].iter().any(|other| other.node_id == row.node_id)) {
            return Err(NotApplicable("its primary key takes one row for a node"));
        }
        let word = |row: &Row| row.enabled.as_deref().and_then(credgate_provider::parse_enabled);
        if rows.iter().any(|row| word(row).is_none()) {
            return Err(NotApplicable("its column enabled is a boolean"));
        }
        let good = |bytes: &[u8]| {
            (1..=255).contains(&bytes.len())
                && bytes.iter().all(|byte| (0x20..=0x7e).contains(byte))
                && bytes.iter().any(|byte| *byte != b' ')
        };
        if rows.iter().any(|row| !row.password.as_deref().map_or(word(row) == Some(false), good)) {
            return Err(NotApplicable("its CHECK refuses such a password"));
        }
        Ok(())
    }
}

impl Subject for Judged {
    fn name(&self) -> String {
        let shape = if self.own_schema { "own schema" } else { "own query" };
        format!("sql: {:?}, {shape}", self.server.database.kind)
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        async move {
            if self.own_schema && self.migrated.set(()).is_ok() {
                credgate_sql::migrate(&self.server.owner()).await.unwrap();
            }
            let table = if self.own_schema { "credgate_nodes" } else { "nodes" };
            if let Err(reason) = self.takes(rows).and_then(|()| self.fill(table, rows)) {
                return Made::Impossible(reason);
            }
            let proxy = Proxy::to(self.server.database.address());
            let url = self.server.database.url(READER, &proxy.address().to_string());
            let settings = format!("url = '{url}'\n{}", self.settings());
            let prepared = provider::prepare(&SqlKind, site, &settings).unwrap();
            let slots = prepared.slots();
            match prepared.open(credgate_provider::Deadline::after(crate::support::BOUND)).await {
                Ok(provider) => {
                    Made::Open(Box::new(Opened { server: Arc::clone(&self.server), proxy, provider, slots, table }))
                }
                Err(error) => Made::Refused(error.to_string()),
            }
        }
        .boxed()
    }
}

impl Store for Opened {
    fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn change<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        let judged = Judged {
            own_schema: self.table == "credgate_nodes",
            server: Arc::clone(&self.server),
            migrated: OnceLock::new(),
        };
        async move { judged.fill(self.table, rows) }.boxed()
    }

    fn disturb(&self, how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        async move {
            match how {
                Disturbance::Refusing => {
                    self.proxy.set(Mode::Refuse);
                    self.proxy.cut();
                    // It listens no more when a connection is refused.
                    while tokio::net::TcpStream::connect(self.proxy.address()).await.is_ok() {}
                }
                Disturbance::Silent => self.proxy.set(Mode::BlackHole),
                Disturbance::Busy if self.table == "nodes" => {
                    self.server.sql("INSERT INTO busy VALUES (1)");
                }
                Disturbance::Busy => return Err(NotApplicable("no lookup by primary key takes long")),
            }
            Ok(())
        }
        .boxed()
    }

    fn heal(&self) -> BoxFuture<'_, ()> {
        async {
            self.proxy.set(Mode::Pass);
            if self.table == "nodes" {
                self.server.sql("DELETE FROM busy");
            }
        }
        .boxed()
    }

    fn running(&self) -> BoxFuture<'_, Option<usize>> {
        async { Some(self.server.database.statements()) }.boxed()
    }
}

async fn own_schema(kind: Kind) {
    assert_conforms(&Judged::new(kind, true)).await;
}

async fn own_query(kind: Kind) {
    assert_conforms(&Judged::new(kind, false)).await;
}

for_each_kind!(own_schema, own_query);
