//! PostgreSQL: one connection.
//!
//! What the server is told at the login: who we are, to end each statement at its timeout, to refuse writes. Behind a
//! transaction-mode pooler there is no login of ours: every lookup is a transaction that says it for itself, and its
//! statement has no name. All columns but `bytea` are cast to text by the server, so that each type has one spelling.

mod fault;
mod import;
mod query;
mod writer;

use std::{sync::Arc, time::Duration};

use credgate_provider::NodeId;
use futures::TryStreamExt;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection as _, Executor, PgConnection, Row, SqlSafeStr, SqlStr, ValueRef,
    postgres::{PgConnectOptions, PgRow, PgSslMode},
};
use zeroize::Zeroizing;

pub(crate) use writer::Writer;

use crate::{
    record::{Cell, Matches, Record},
    server::{Fault, Link, Query},
    url::{Place, Server, Tls},
};

/// How to reach the server.
pub(crate) struct Access {
    options: PgConnectOptions,
    /// What begins a transaction, behind a pooler.
    begin: Option<SqlStr>,
    /// As a GRANT names it.
    role: Arc<str>,
}

pub(crate) struct Connection {
    inner: PgConnection,
    begin: Option<SqlStr>,
    role: Arc<str>,
}

/// The lookup's statement and those of the check: more are never kept.
const STATEMENTS: usize = 4;

impl Link for Connection {
    type Access = Access;

    fn access(server: &Server, statement_timeout: Option<Duration>) -> Access {
        let mut options = PgConnectOptions::new_without_pgpass()
            .port(server.port)
            .username(&server.user)
            .password(&server.password)
            .database(&server.database)
            .application_name("credgate")
            .extra_float_digits(None)
            .statement_cache_capacity(STATEMENTS)
            .ssl_mode(match server.tls {
                Tls::Off => PgSslMode::Disable,
                Tls::Unverified => PgSslMode::Require,
                Tls::Ca => PgSslMode::VerifyCa,
                Tls::Full => PgSslMode::VerifyFull,
            })
            .disable_statement_logging();
        options = match &server.place {
            Place::Host(host) => options.host(host),
            Place::Socket(folder) => options.socket(folder),
        };
        if let Some(ca) = &server.ca {
            options = options.ssl_root_cert_from_pem(ca.to_vec());
        }
        let mut begin = None;
        if let Some(timeout) = statement_timeout {
            let timeout = timeout.as_millis();
            if server.pooler {
                let sql = format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {timeout}");
                begin = Some(AssertSqlSafe(sql).into_sql_str());
                options = options.statement_cache_capacity(0);
            } else {
                options = options.options([
                    ("statement_timeout", timeout.to_string()),
                    ("default_transaction_read_only", "on".to_owned()),
                ]);
            }
        }
        Access { options, begin, role: fault::quoted(&server.user).into() }
    }

    async fn connect(access: &Access) -> Result<Self, Fault> {
        let inner = access.options.connect().await.map_err(|error| fault::of_login(&error))?;
        Ok(Self { inner, begin: access.begin.clone(), role: Arc::clone(&access.role) })
    }

    async fn settle(&mut self, configured: Option<&str>) -> Result<Query, Fault> {
        self.begin().await?;
        let settled = match configured {
            None => Ok(query::own()),
            Some(text) => query::inspect(self, text).await,
        };
        self.end().await?;
        settled.map_err(|fault| fault.of_role(&self.role))
    }

    async fn prove(&mut self, query: &Query, own_schema: bool) -> Result<bool, Fault> {
        self.begin().await?;
        let any = query::prove(self, query, own_schema).await.map_err(|fault| fault.of_role(&self.role))?;
        self.end().await?;
        Ok(any)
    }

    async fn rows(&mut self, query: &Query, node: &NodeId) -> Result<Matches, Fault> {
        self.begin().await?;
        let mut matches = Matches::of(node.clone());
        let statement = sqlx::query(query.sql.clone()).bind(node.as_str().to_owned()).persistent(self.begin.is_none());
        let mut rows = statement.fetch(&mut self.inner);
        while let Some(row) = rows.try_next().await.map_err(|error| fault::of(&error))? {
            let enabled = if query.with_enabled { Some(cell(&row, 2)?) } else { None };
            if !matches.take(Record { node_id: cell(&row, 0)?, password: cell(&row, 1)?, enabled }) {
                return Ok(matches);
            }
        }
        drop(rows);
        self.end().await?;
        Ok(matches)
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.inner.ping().await.map_err(|error| fault::of(&error))
    }

    async fn version(&mut self) -> Result<String, Fault> {
        Ok(match self.inner.server_version_num() {
            Some(number) => format!("PostgreSQL {}.{}", number / 10_000, number % 100),
            None => "PostgreSQL".to_owned(),
        })
    }

    async fn close(self) {
        // It is gone either way.
        let _ = self.inner.close().await;
    }
}

impl Connection {
    /// Behind a pooler two statements of ours reach the same server only inside a transaction.
    async fn begin(&mut self) -> Result<(), Fault> {
        match self.begin.clone() {
            Some(begin) => self.run(begin).await,
            None => Ok(()),
        }
    }

    async fn end(&mut self) -> Result<(), Fault> {
        if self.begin.is_none() {
            return Ok(());
        }
        self.run(SqlStr::from_static("ROLLBACK")).await
    }

    /// Runs statements without parameters or rows.
    async fn run(&mut self, sql: SqlStr) -> Result<(), Fault> {
        self.inner.execute(sql).await.map(drop).map_err(|error| fault::of(&error))
    }
}

/// Text and `bytea` arrive as their bytes, and nothing else is asked for.
fn cell(row: &PgRow, column: usize) -> Result<Cell, Fault> {
    let value = row.try_get_raw(column).map_err(|error| fault::of(&error))?;
    if value.is_null() {
        return Ok(Cell::Null);
    }
    let bytes = value.as_bytes().map_err(|_| Fault::gone("it sent a row that cannot be read"))?;
    Ok(Cell::Text(Zeroizing::new(bytes.to_vec())))
}
