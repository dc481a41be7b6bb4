//! The statement that a lookup runs: credgate's own, or the operator's, made sure of before the first lookup.
//!
//! The operator's query is run inside an outer SELECT that asks for its columns by name. Whatever becomes of the tables
//! below it (`SELECT *` and a column that was added), a password is then never read from a column of another name; and
//! anything but one SELECT, a writing statement too, is refused by the database itself.

use std::sync::Arc;

use futures::FutureExt;
use sqlx::{
    AssertSqlSafe, Column, Either, Executor, SqlSafeStr, SqlStr, SqliteConnection, Statement, TypeInfo,
    sqlite::{SqliteColumn, SqliteStatement},
};

use super::{
    connection::{Access, Connection},
    fault::{self, Fault},
};
use crate::{schema, task::Bound};

/// A statement whose columns are node_id, password and, if there is one, enabled.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) sql: SqlStr,
    pub(crate) with_enabled: bool,
}

const OWN: &str = "SELECT node_id, password, enabled FROM credgate_nodes WHERE node_id = ?1";
const ANY: &str = "SELECT EXISTS (SELECT 1 FROM credgate_nodes)";

/// No node has an empty ID: running the query with it proves that it runs, and shows nobody's password.
const NOBODY: &str = "";

/// What is wrong with the operator's query, in a sentence that names the thing.
type Unsuitable = String;

impl Query {
    /// The statement to run on this database, made sure of as far as the database can tell without running it.
    pub(crate) async fn settle(
        configured: Option<&Arc<str>>,
        connection: &mut Connection,
        bound: Bound,
    ) -> Result<Self, Fault> {
        match configured {
            None => Ok(Self { sql: SqlStr::from_static(OWN), with_enabled: true }),
            Some(text) => connection
                .run(bound, |connection| inspect(connection, Arc::clone(text)).boxed())
                .await
                .map_err(|fault| in_query(fault, "cannot be prepared"))?
                .map_err(Fault::Query),
        }
    }

    /// Runs what a lookup would run, for no node at all; with credgate's own schema also compares its version. Returns
    /// whether there is a node; of an operator's query nothing else can be known.
    pub(crate) async fn prove(
        &self,
        own_schema: bool,
        connection: &mut Connection,
        access: &Access,
        bound: Bound,
    ) -> Result<bool, Fault> {
        if own_schema {
            let found = connection.run(bound, |connection| version(connection).boxed()).await?;
            schema::readable(&found).map_err(|text| Fault::Refused(format!("{} {text}", access.path().display())))?;
        }
        connection
            .run(bound, |connection| {
                let sql = self.sql.clone();
                async move {
                    sqlx::query(sql).bind(NOBODY).fetch_optional(connection).await?;
                    Ok(())
                }
                .boxed()
            })
            .await
            .map_err(|fault| if own_schema { fault } else { in_query(fault, "cannot be run") })?;
        if !own_schema {
            return Ok(true);
        }
        connection.run(bound, |connection| sqlx::query_scalar(ANY).fetch_one(connection).boxed()).await
    }
}

/// What stands in `credgate_schema`: rows of (version, min_reader); none when there is no such table.
pub(crate) async fn version(connection: &mut SqliteConnection) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    match sqlx::query_as("SELECT version, min_reader FROM credgate_schema").fetch_all(connection).await {
        Err(error) if fault::no_such_table(&error) => Ok(Vec::new()),
        other => other,
    }
}

async fn inspect(connection: &mut SqliteConnection, text: Arc<str>) -> Result<Result<Query, Unsuitable>, sqlx::Error> {
    let given = text.trim().trim_end_matches(';').trim_end();
    let statement = (&mut *connection).prepare(AssertSqlSafe(given).into_sql_str()).await?;
    let with_enabled = match suitable(&statement) {
        Ok(with_enabled) => with_enabled,
        Err(unsuitable) => return Ok(Err(unsuitable)),
    };
    let enabled = if with_enabled { ", enabled" } else { "" };
    // The line break ends a comment at the end of the query.
    let sql = AssertSqlSafe(Arc::<str>::from(format!("SELECT node_id, password{enabled} FROM (\n{given}\n)")));
    let sql = sql.into_sql_str();
    Ok(match (&mut *connection).prepare(sql.clone()).await {
        Ok(_) => Ok(Query { sql, with_enabled }),
        Err(error) if fault::is_about_the_text(&error) => {
            Err(format!("must be one SELECT and nothing else: {}", fault::message(&error)))
        }
        Err(error) => return Err(error),
    })
}

/// Whether there is a column `enabled`, or why the statement will not do.
fn suitable(statement: &SqliteStatement) -> Result<bool, Unsuitable> {
    match statement.parameters() {
        Some(Either::Right(1)) => {}
        Some(Either::Right(number)) => {
            return Err(format!(
                "takes {number} parameters; it must take exactly one, the node ID, as in WHERE node_id = ?"
            ));
        }
        _ => return Err("does not say how many parameters it takes".to_owned()),
    }
    let node_id = column(statement, "node_id")?.ok_or_else(|| lacks(statement, "node_id"))?;
    let password = column(statement, "password")?.ok_or_else(|| lacks(statement, "password"))?;
    let enabled = column(statement, "enabled")?;
    // NULL is what an expression without a declared type shows: its values are judged one by one. A BLOB never equals a
    // text, so every node of such a column would be unknown without a word.
    typed(node_id, &["TEXT", "INTEGER", "NULL"], "text, or an integer: CAST(… AS TEXT), here and in WHERE")?;
    typed(password, &["TEXT", "BLOB", "NULL"], "text: as a number 0123 and 123 would be one password")?;
    if let Some(enabled) = enabled {
        typed(enabled, &["BOOLEAN", "INTEGER", "TEXT", "NULL"], "a boolean, an integer or text")?;
    }
    Ok(enabled.is_some())
}

fn column<'s>(statement: &'s SqliteStatement, name: &str) -> Result<Option<&'s SqliteColumn>, Unsuitable> {
    let mut named = statement.columns().iter().filter(|column| column.name().eq_ignore_ascii_case(name));
    let first = named.next();
    match named.next() {
        Some(_) => Err(format!("returns two columns named {name}; name one of them otherwise (AS)")),
        None => Ok(first),
    }
}

fn lacks(statement: &SqliteStatement, name: &str) -> Unsuitable {
    let returned: Vec<&str> = statement.columns().iter().map(Column::name).collect();
    let returned = if returned.is_empty() { "none".to_owned() } else { returned.join(", ") };
    format!("returns no column {name} (use AS {name}); the columns it returns: {returned}")
}

fn typed(column: &SqliteColumn, usable: &[&str], expected: &str) -> Result<(), Unsuitable> {
    let found = column.type_info().name();
    if usable.contains(&found) {
        return Ok(());
    }
    Err(format!("returns column {} of type {found}; it must be {expected}", column.name()))
}

fn in_query(fault: Fault, what: &str) -> Fault {
    match fault {
        Fault::Statement(text) => Fault::Query(format!("{what}: {text}")),
        other => other,
    }
}
