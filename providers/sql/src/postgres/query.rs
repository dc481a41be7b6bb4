//! The statement that a lookup runs on PostgreSQL.
//!
//! The operator's query is run inside an outer SELECT that asks for its columns by name, so that no change of a table can
//! make another column the password, and anything but one SELECT is refused by the server. What it returns is found out by
//! asking `pg_typeof` over it: nothing has to be prepared under a name, so this works behind a pooler too.

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::{Connection, fault};
use crate::{
    schema,
    server::{ANYBODY, Fault, Query, unsuitable},
};

const OWN: &str = "SELECT node_id, password, enabled::text FROM credgate_nodes WHERE node_id = $1";
const ANY: &str = "SELECT EXISTS (SELECT FROM credgate_nodes)";
/// Characters of a stored value that are read: more than any password may have. A longer one is corrupt and need not be
/// carried here to be told so.
const READ: u32 = 1000;

const TEXTS: [&str; 6] = ["text", "character varying", "character", "\"char\"", "name", "citext"];
const INTEGERS: [&str; 3] = ["smallint", "integer", "bigint"];
const BYTES: &str = "bytea";

pub(super) fn own() -> Query {
    Query { sql: SqlStr::from_static(OWN), with_enabled: true }
}

/// The operator's query, wrapped, or what is wrong with it.
pub(super) async fn inspect(connection: &mut Connection, text: &str) -> Result<Query, Fault> {
    let given = text.trim().trim_end_matches(';').trim_end();
    if !given.contains("$1") {
        return Err(unsuitable("takes no parameter; it must take exactly one, the node ID, as in WHERE node_id = $1"));
    }
    // The line break ends a comment at the end of the query.
    let alone = format!("SELECT 1 FROM (\n{given}\n) AS credgate_query WHERE false");
    run(connection, alone).await.map_err(|error| about_query(&error))?;
    let node_id = type_of(connection, given, "node_id").await?.ok_or_else(|| lacks("node_id"))?;
    let password = type_of(connection, given, "password").await?.ok_or_else(|| lacks("password"))?;
    // The last one: behind a pooler a column that is not there ends the transaction.
    let enabled = type_of(connection, given, "enabled").await?;
    let is_text = |found: &Found| TEXTS.contains(&&*found.name) || found.name == BYTES || found.is_enum;
    if !is_text(&node_id) && !INTEGERS.contains(&&*node_id.name) {
        return Err(wrong("node_id", &node_id, "text, or an integer"));
    }
    if !is_text(&password) {
        return Err(wrong("password", &password, "text: as a number 0123 and 123 would be one password"));
    }
    if let Some(enabled) = &enabled {
        let usable = is_text(enabled) && enabled.name != BYTES
            || INTEGERS.contains(&&*enabled.name)
            || ["boolean", "bit", "bit varying"].contains(&&*enabled.name);
        if !usable {
            return Err(wrong("enabled", enabled, "a boolean, an integer, a bit or text"));
        }
    }
    let column = |name: &str, found: &Found| match found.name == BYTES {
        true => name.to_owned(),
        false => format!("{name}::text"),
    };
    let columns = format!("{}, substr({}, 1, {READ})", column("node_id", &node_id), column("password", &password));
    let enabled = enabled.map(|found| format!(", {}", column("enabled", &found)));
    let sql =
        format!("SELECT {columns}{} FROM (\n{given}\n) AS credgate_query", enabled.as_deref().unwrap_or_default());
    Ok(Query { sql: AssertSqlSafe(sql).into_sql_str(), with_enabled: enabled.is_some() })
}

/// Runs the query for no node in particular; with credgate's own schema also compares its version and looks for any node.
pub(super) async fn prove(connection: &mut Connection, query: &Query, own_schema: bool) -> Result<bool, Fault> {
    let persistent = connection.begin.is_none();
    let inner = &mut connection.inner;
    if own_schema {
        let found = version(inner).await.map_err(|error| fault::of(&error))?;
        schema::readable(&found).map_err(|text| Fault::Refused(format!("the database {text}")))?;
    }
    let statement = sqlx::query(query.sql.clone()).bind(ANYBODY).persistent(persistent);
    if let Err(error) = statement.fetch_optional(&mut *inner).await {
        return Err(if own_schema { fault::of(&error) } else { about_query(&error) });
    }
    if !own_schema {
        return Ok(true);
    }
    let any = sqlx::query_scalar(ANY).persistent(persistent).fetch_one(inner).await;
    any.map_err(|error| fault::of(&error))
}

/// What stands in `credgate_schema`: rows of (version, min_reader); none when there is no such table.
pub(super) async fn version(connection: &mut sqlx::PgConnection) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    let rows = sqlx::query_as("SELECT version, min_reader FROM credgate_schema").persistent(false);
    match rows.fetch_all(connection).await {
        Err(error) if fault::no_such_table(&error) => Ok(Vec::new()),
        other => other,
    }
}

/// A column's type; of a domain the one below it.
struct Found {
    name: String,
    is_enum: bool,
}

/// `None` when the query has no such column.
async fn type_of(connection: &mut Connection, given: &str, column: &str) -> Result<Option<Found>, Fault> {
    // One row at least, whatever the query returns; its expression is never NULL.
    let sql = format!(
        "SELECT format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL), t.typtype = 'e' \
         FROM (SELECT 1) AS one LEFT JOIN (\n{given}\n) AS credgate_query ON true \
         JOIN pg_catalog.pg_type AS t ON t.oid = pg_typeof(credgate_query.{column})::oid LIMIT 1"
    );
    let found = sqlx::query_as::<_, (String, bool)>(AssertSqlSafe(sql)).bind(ANYBODY).persistent(false);
    match found.fetch_one(&mut connection.inner).await {
        Ok((name, is_enum)) => Ok(Some(Found { name, is_enum })),
        Err(error) => match fault::told(&error).as_ref().map(|(code, _)| code.as_str()) {
            Some("42703") => Ok(None),
            Some("42702") => {
                Err(unsuitable(format_args!("returns two columns named {column}; name one of them otherwise (AS)")))
            }
            _ => Err(about_query(&error)),
        },
    }
}

async fn run(connection: &mut Connection, sql: String) -> Result<(), sqlx::Error> {
    let statement = sqlx::query(AssertSqlSafe(sql)).bind(ANYBODY).persistent(false);
    statement.fetch_optional(&mut connection.inner).await.map(drop)
}

fn about_query(error: &sqlx::Error) -> Fault {
    match fault::of(error) {
        Fault::Statement(text) if text.starts_with("takes ") => unsuitable(text),
        Fault::Statement(text) => unsuitable(format_args!("cannot be run: {text}")),
        Fault::Value(text) => unsuitable(format_args!("cannot be run for the node ID \"{ANYBODY}\": {text}")),
        other => other,
    }
}

fn lacks(column: &str) -> Fault {
    unsuitable(format_args!("returns no column {column} (use AS {column}, in small letters)"))
}

fn wrong(column: &str, found: &Found, expected: &str) -> Fault {
    unsuitable(format_args!("returns column {column} of type {}; it must be {expected}", found.name))
}
