//! The statement that a lookup runs: credgate's own, or the operator's, made sure of before the first lookup.
//!
//! The operator's query is run inside an outer SELECT that asks for its columns by name. Whatever becomes of the tables
//! below it (`SELECT *` and a column that was added), a password is then never read from a column of another name; and
//! anything but one SELECT, a writing statement too, is refused by the database itself.

use std::sync::Arc;

use rusqlite::{Column, OptionalExtension, Statement};

use super::{
    connection::{Access, Connection},
    fault::{self, Fault},
};
use crate::{schema, task::Bound};

/// A statement whose columns are node_id, password and, if there is one, enabled.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) sql: Arc<str>,
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
    pub(crate) fn settle(configured: Option<&str>, connection: &Connection, bound: Bound) -> Result<Self, Fault> {
        match configured {
            None => Ok(Self { sql: OWN.into(), with_enabled: true }),
            Some(text) => connection
                .run(bound, |connection| inspect(connection, text))
                .map_err(|fault| in_query(fault, "cannot be prepared"))?
                .map_err(Fault::Query),
        }
    }

    /// Runs what a lookup would run, for no node at all; with credgate's own schema also compares its version. Returns
    /// whether there is a node; of an operator's query nothing else can be known.
    pub(crate) fn prove(
        &self,
        own_schema: bool,
        connection: &Connection,
        access: &Access,
        bound: Bound,
    ) -> Result<bool, Fault> {
        if own_schema {
            let found = connection.run(bound, version)?;
            schema::readable(&found).map_err(|text| Fault::Refused(format!("{} {text}", access.path().display())))?;
        }
        connection
            .run(bound, |connection| connection.prepare_cached(&self.sql)?.query_row([NOBODY], |_| Ok(())).optional())
            .map_err(|fault| if own_schema { fault } else { in_query(fault, "cannot be run") })?;
        if !own_schema {
            return Ok(true);
        }
        connection.run(bound, |connection| connection.prepare_cached(ANY)?.query_row([], |row| row.get(0)))
    }
}

/// What stands in `credgate_schema`: rows of (version, min_reader); none when there is no such table.
pub(crate) fn version(connection: &rusqlite::Connection) -> rusqlite::Result<Vec<(i64, i64)>> {
    let rows = || {
        let mut statement = connection.prepare("SELECT version, min_reader FROM credgate_schema")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    match rows() {
        Err(error) if fault::no_such_table(&error) => Ok(Vec::new()),
        other => other,
    }
}

fn inspect(connection: &rusqlite::Connection, text: &str) -> rusqlite::Result<Result<Query, Unsuitable>> {
    let given = text.trim().trim_end_matches(';').trim_end();
    let with_enabled = match connection.prepare(given) {
        Err(rusqlite::Error::MultipleStatement) => return Ok(Err(not_one("another statement follows"))),
        other => match suitable(&other?) {
            Ok(with_enabled) => with_enabled,
            Err(unsuitable) => return Ok(Err(unsuitable)),
        },
    };
    let enabled = if with_enabled { ", enabled" } else { "" };
    // The line break ends a comment at the end of the query.
    let sql = format!("SELECT node_id, password{enabled} FROM (\n{given}\n)");
    match connection.prepare(&sql).map(drop) {
        Ok(()) => Ok(Ok(Query { sql: sql.into(), with_enabled })),
        Err(error) if fault::is_about_the_text(&error) => Ok(Err(not_one(fault::message(&error)))),
        Err(error) => Err(error),
    }
}

fn not_one(why: &str) -> Unsuitable {
    format!("must be one SELECT and nothing else: {why}")
}

/// Whether there is a column `enabled`, or why the statement will not do.
fn suitable(statement: &Statement<'_>) -> Result<bool, Unsuitable> {
    let number = statement.parameter_count();
    if number != 1 {
        return Err(format!(
            "takes {number} parameters; it must take exactly one, the node ID, as in WHERE node_id = ?"
        ));
    }
    if statement.column_count() == 0 {
        return Err(not_one("it returns no rows"));
    }
    // `:node` would do for SQLite, and is another thing in every other database.
    if statement.parameter_name(1).is_some_and(|name| name != "?1" && name != "$1") {
        return Err("cannot be run: its parameter must be written ? (or ?1)".to_owned());
    }
    let columns = statement.columns();
    let node_id = column(&columns, "node_id")?.ok_or_else(|| lacks(&columns, "node_id"))?;
    let password = column(&columns, "password")?.ok_or_else(|| lacks(&columns, "password"))?;
    let enabled = column(&columns, "enabled")?;
    // A BLOB never equals a text, so every node of such a column would be unknown without a word.
    typed(node_id, &[Kind::Text, Kind::Integer], "text, or an integer: CAST(… AS TEXT), here and in WHERE")?;
    typed(password, &[Kind::Text, Kind::Blob], "text: as a number 0123 and 123 would be one password")?;
    if let Some(enabled) = enabled {
        typed(enabled, &[Kind::Boolean, Kind::Integer, Kind::Text], "a boolean, an integer or text")?;
    }
    Ok(enabled.is_some())
}

fn column<'c, 's>(columns: &'c [Column<'s>], name: &str) -> Result<Option<&'c Column<'s>>, Unsuitable> {
    let mut named = columns.iter().filter(|column| column.name().eq_ignore_ascii_case(name));
    let first = named.next();
    match named.next() {
        Some(_) => Err(format!("returns two columns named {name}; name one of them otherwise (AS)")),
        None => Ok(first),
    }
}

fn lacks(columns: &[Column<'_>], name: &str) -> Unsuitable {
    let returned: Vec<&str> = columns.iter().map(Column::name).collect();
    let returned = if returned.is_empty() { "none".to_owned() } else { returned.join(", ") };
    format!("returns no column {name} (use AS {name}); the columns it returns: {returned}")
}

/// An expression has no declared type, and some types say nothing: their values are judged one by one.
fn typed(column: &Column<'_>, usable: &[Kind], expected: &str) -> Result<(), Unsuitable> {
    match column.decl_type().map(|declared| (declared, Kind::of(declared))) {
        Some((declared, Some(kind))) if !usable.contains(&kind) => {
            Err(format!("returns column {} of type {declared}; it must be {expected}", column.name()))
        }
        _ => Ok(()),
    }
}

/// What a column is declared to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Boolean,
    Moment,
    Integer,
    Text,
    Blob,
    Fraction,
}

impl Kind {
    /// By SQLite's own rules (<https://www.sqlite.org/datatype3.html>, section 3.1), but for the words of other databases
    /// that those rules know nothing of.
    fn of(declared: &str) -> Option<Self> {
        let declared = declared.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        match &*declared {
            "boolean" | "bool" => Some(Self::Boolean),
            "date" | "time" | "datetime" | "timestamp" => Some(Self::Moment),
            _ if has(&["int"]) => Some(Self::Integer),
            _ if has(&["char", "clob", "text"]) => Some(Self::Text),
            _ if has(&["blob"]) => Some(Self::Blob),
            _ if has(&["real", "floa", "doub"]) => Some(Self::Fraction),
            _ => None,
        }
    }
}

fn in_query(fault: Fault, what: &str) -> Fault {
    match fault {
        Fault::Statement(text) => Fault::Query(format!("{what}: {text}")),
        other => other,
    }
}
