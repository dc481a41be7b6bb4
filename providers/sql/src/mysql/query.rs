//! The statement that a lookup runs on MySQL and MariaDB.
//!
//! The operator's query is run inside an outer SELECT that asks for its columns by name, so that no change of a table can
//! make another column the password, and anything but one SELECT is refused by the server.

use sqlx::{
    AssertSqlSafe, Column, Either, Executor, MySqlConnection, SqlSafeStr, SqlStr, Statement, TypeInfo,
    mysql::{MySqlColumn, MySqlStatement},
};

use super::{Connection, fault};
use crate::{
    schema,
    server::{ANYBODY, Fault, Query, unsuitable},
};

const OWN: &str = "SELECT node_id, password, enabled FROM credgate_nodes WHERE node_id = ?";
const ANY: &str = "SELECT CAST(EXISTS (SELECT 1 FROM credgate_nodes) AS SIGNED)";
/// Characters of a large value that are read: more than any password may have. A longer one is corrupt and need not be
/// carried here to be told so.
const READ: u32 = 1000;

/// What a value of a column is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Unsigned,
    /// Text, or bytes.
    Text,
    /// An expression without a type: its values are judged one by one.
    Null,
    Other,
}

impl Kind {
    /// Of a type by the name that sqlx gives it. A collation `_bin` makes VARCHAR a VARBINARY there.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "BIT" => Self::Unsigned,
            _ if name.ends_with(" UNSIGNED") => Self::Unsigned,
            "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => Self::Integer,
            "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" => Self::Text,
            "BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB" => Self::Text,
            "NULL" => Self::Null,
            _ => Self::Other,
        }
    }
}

pub(super) fn own() -> Query {
    Query { sql: SqlStr::from_static(OWN), with_enabled: true }
}

/// The operator's query, wrapped, or what is wrong with it.
pub(super) async fn inspect(connection: &mut Connection, text: &str) -> Result<Query, Fault> {
    let given = text.trim().trim_end_matches(';').trim_end();
    let statement = prepare(connection, given.to_owned()).await?;
    let Suitable { large, with_enabled } = suitable(&statement)?;
    let password = if large { format!("LEFT(password, {READ}) AS password") } else { "password".to_owned() };
    let enabled = if with_enabled { ", enabled" } else { "" };
    // The line break ends a comment at the end of the query.
    let sql = format!("SELECT node_id, {password}{enabled} FROM (\n{given}\n) AS credgate_query");
    let sql = prepare(connection, sql).await?.into_sql();
    Ok(Query { sql, with_enabled })
}

async fn prepare(connection: &mut Connection, sql: String) -> Result<MySqlStatement, Fault> {
    let prepared = (&mut connection.inner).prepare(AssertSqlSafe(sql).into_sql_str()).await;
    prepared.map_err(|error| about_query(&error))
}

/// What a statement that will do returns.
struct Suitable {
    /// A password of a type that holds gigabytes: the server calls every TEXT by one name.
    large: bool,
    /// Whether there is a column `enabled`.
    with_enabled: bool,
}

/// The shape of the statement's rows, or why it will not do.
fn suitable(statement: &MySqlStatement) -> Result<Suitable, Fault> {
    match statement.parameters() {
        Some(Either::Right(1)) => {}
        found => {
            let number = found.map_or(0, |found| found.either(<[_]>::len, |number| number));
            return Err(unsuitable(format_args!(
                "takes {number} parameters; it must take exactly one, the node ID, as in WHERE node_id = ?"
            )));
        }
    }
    let node_id = column(statement, "node_id")?.ok_or_else(|| lacks(statement, "node_id"))?;
    let password = column(statement, "password")?.ok_or_else(|| lacks(statement, "password"))?;
    let enabled = column(statement, "enabled")?;
    typed(node_id, &[Kind::Text, Kind::Integer, Kind::Unsigned, Kind::Null], "text, or an integer")?;
    typed(password, &[Kind::Text, Kind::Null], "text: as a number 0123 and 123 would be one password")?;
    if let Some(enabled) = enabled {
        let usable = [Kind::Text, Kind::Integer, Kind::Unsigned, Kind::Null];
        typed(enabled, &usable, "a boolean, an integer, a bit or text")?;
    }
    let name = password.type_info().name();
    let large = name.ends_with("TEXT") || name.ends_with("BLOB");
    Ok(Suitable { large, with_enabled: enabled.is_some() })
}

/// Runs the query for no node in particular; with credgate's own schema also compares its version and looks for any node.
pub(super) async fn prove(connection: &mut Connection, query: &Query, own_schema: bool) -> Result<bool, Fault> {
    let inner = &mut connection.inner;
    if own_schema {
        let found = version(inner).await.map_err(|error| fault::of(&error))?;
        schema::readable(&found).map_err(|text| Fault::Refused(format!("the database {text}")))?;
    }
    if let Err(error) = sqlx::query(query.sql.clone()).bind(ANYBODY).fetch_optional(&mut *inner).await {
        return Err(if own_schema { fault::of(&error) } else { about_query(&error) });
    }
    if !own_schema {
        return Ok(true);
    }
    let any: i64 = sqlx::query_scalar(ANY).fetch_one(inner).await.map_err(|error| fault::of(&error))?;
    Ok(any != 0)
}

/// What stands in `credgate_schema`: rows of (version, min_reader); none when there is no such table.
pub(super) async fn version(connection: &mut MySqlConnection) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    match sqlx::query_as("SELECT version, min_reader FROM credgate_schema").fetch_all(connection).await {
        Err(error) if fault::no_such_table(&error) => Ok(Vec::new()),
        other => other,
    }
}

fn column<'s>(statement: &'s MySqlStatement, name: &str) -> Result<Option<&'s MySqlColumn>, Fault> {
    let mut named = statement.columns().iter().filter(|column| column.name().eq_ignore_ascii_case(name));
    let first = named.next();
    match named.next() {
        Some(_) => Err(unsuitable(format_args!("returns two columns named {name}; name one of them otherwise (AS)"))),
        None => Ok(first),
    }
}

fn lacks(statement: &MySqlStatement, name: &str) -> Fault {
    let returned: Vec<&str> = statement.columns().iter().map(Column::name).collect();
    let returned = if returned.is_empty() { "none".to_owned() } else { returned.join(", ") };
    unsuitable(format_args!("returns no column {name} (use AS {name}); the columns it returns: {returned}"))
}

fn typed(column: &MySqlColumn, usable: &[Kind], expected: &str) -> Result<(), Fault> {
    let found = column.type_info().name();
    if usable.contains(&Kind::of(found)) {
        return Ok(());
    }
    Err(unsuitable(format_args!("returns column {} of type {found}; it must be {expected}", column.name())))
}

fn about_query(error: &sqlx::Error) -> Fault {
    match fault::of(error) {
        Fault::Statement(text) => unsuitable(format_args!("cannot be run: {text}")),
        Fault::Value(text) => unsuitable(format_args!("cannot be run for the node ID \"{ANYBODY}\": {text}")),
        other => other,
    }
}
