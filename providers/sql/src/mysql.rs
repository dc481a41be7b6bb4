//! MySQL and MariaDB: one connection.
//!
//! Both are told to end each statement at its timeout and to refuse writes; how the first is said depends on which of the
//! two it is. A row's value has the type of its column, so values are read by type.

mod fault;
mod import;
mod query;
mod writer;

use std::time::Duration;

use credgate_provider::NodeId;
use futures::TryStreamExt;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection as _, Decode, Executor, MySql, MySqlConnection, Row, SqlSafeStr, SqlStr,
    TypeInfo, ValueRef,
    mysql::{MySqlConnectOptions, MySqlRow, MySqlSslMode},
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
    options: MySqlConnectOptions,
    statement_timeout: Option<Duration>,
}

pub(crate) struct Connection {
    inner: MySqlConnection,
    version: String,
    /// The account that the server took us for, as a GRANT names it.
    account: String,
}

/// The lookup's statement, those of the check and of the start: more are never kept.
const STATEMENTS: usize = 8;

impl Link for Connection {
    type Access = Access;

    fn access(server: &Server, statement_timeout: Option<Duration>) -> Access {
        let mut options = MySqlConnectOptions::new()
            .port(server.port)
            .username(&server.user)
            .database(&server.database)
            .statement_cache_capacity(STATEMENTS)
            .charset("utf8mb4")
            // Nothing else of the session is changed under the operator's query.
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .ssl_mode(match server.tls {
                Tls::Off => MySqlSslMode::Disabled,
                Tls::Unverified => MySqlSslMode::Required,
                Tls::Ca => MySqlSslMode::VerifyCa,
                Tls::Full => MySqlSslMode::VerifyIdentity,
            })
            .disable_statement_logging();
        if !server.password.is_empty() {
            options = options.password(&server.password);
        }
        options = match &server.place {
            Place::Host(host) => options.host(host),
            Place::Socket(socket) => options.socket(socket),
        };
        if let Some(ca) = &server.ca {
            options = options.ssl_ca_from_pem(ca.to_vec());
        }
        Access { options, statement_timeout }
    }

    async fn connect(access: &Access) -> Result<Self, Fault> {
        let mut inner = access.options.connect().await.map_err(|error| fault::of_login(&error))?;
        let (version, account): (String, String) = sqlx::query_as("SELECT version(), current_user()")
            .persistent(false)
            .fetch_one(&mut inner)
            .await
            .map_err(|error| fault::of_login(&error))?;
        let mut connection = Self { inner, version, account: fault::quoted(&account) };
        if let Some(timeout) = access.statement_timeout {
            let settings = connection.session(timeout);
            connection.inner.execute(settings).await.map_err(|error| fault::of_login(&error))?;
        }
        Ok(connection)
    }

    async fn settle(&mut self, configured: Option<&str>) -> Result<Query, Fault> {
        let settled = match configured {
            None => Ok(query::own()),
            Some(text) => query::inspect(self, text).await,
        };
        settled.map_err(|fault| fault.of_role(&self.account))
    }

    async fn prove(&mut self, query: &Query, own_schema: bool) -> Result<bool, Fault> {
        query::prove(self, query, own_schema).await.map_err(|fault| fault.of_role(&self.account))
    }

    async fn rows(&mut self, query: &Query, node: &NodeId) -> Result<Matches, Fault> {
        let mut matches = Matches::of(node.clone());
        let mut rows = sqlx::query(query.sql.clone()).bind(node.as_str().to_owned()).fetch(&mut self.inner);
        while let Some(row) = rows.try_next().await.map_err(|error| fault::of(&error))? {
            let enabled = if query.with_enabled { Some(cell(&row, 2)?) } else { None };
            if !matches.take(Record { node_id: cell(&row, 0)?, password: cell(&row, 1)?, enabled }) {
                break;
            }
        }
        drop(rows);
        Ok(matches)
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.inner.ping().await.map_err(|error| fault::of(&error))
    }

    async fn version(&mut self) -> Result<String, Fault> {
        Ok(self.name())
    }

    async fn close(self) {
        // It is gone either way.
        let _ = self.inner.close().await;
    }
}

impl Connection {
    fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// "MariaDB 10.11.6", "MySQL 8.0.36": without what distributions add.
    fn name(&self) -> String {
        let number: String = self.version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        format!("{} {number}", if self.is_mariadb() { "MariaDB" } else { "MySQL" })
    }

    fn session(&self, timeout: Duration) -> SqlStr {
        let limit = match self.is_mariadb() {
            // Seconds with a fraction, any statement, waiting for locks included (MariaDB 10.1).
            true => format!("max_statement_time = {}", timeout.as_secs_f64()),
            // Milliseconds, SELECT only (MySQL 5.7.8).
            false => format!("max_execution_time = {}", timeout.as_millis()),
        };
        let sql = format!("SET SESSION {limit}; SET SESSION TRANSACTION READ ONLY");
        AssertSqlSafe(sql).into_sql_str()
    }
}

fn cell(row: &MySqlRow, column: usize) -> Result<Cell, Fault> {
    let value = row.try_get_raw(column).map_err(|error| fault::of(&error))?;
    if value.is_null() {
        return Ok(Cell::Null);
    }
    let info = value.type_info().into_owned();
    let unreadable = |_| Fault::gone("it sent a row that cannot be read");
    match query::Kind::of(info.name()) {
        query::Kind::Unsigned => {
            let number = <u64 as Decode<MySql>>::decode(value).map_err(unreadable)?;
            Ok(i64::try_from(number).map_or(Cell::Other, Cell::Integer))
        }
        query::Kind::Integer => <i64 as Decode<MySql>>::decode(value).map(Cell::Integer).map_err(unreadable),
        query::Kind::Text => {
            let bytes = <&[u8] as Decode<MySql>>::decode(value).map_err(unreadable)?;
            // BINARY(n) is filled with zero bytes, which belong to no node ID and no password.
            let kept = match info.name() {
                "BINARY" => bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1),
                _ => bytes.len(),
            };
            Ok(Cell::Text(Zeroizing::new(bytes[..kept].to_vec())))
        }
        query::Kind::Null | query::Kind::Other => Ok(Cell::Other),
    }
}
