//! SQLite's errors in the operator's words: one sentence each, with what to do about it.

use std::path::Path;

use credgate_provider::ProviderError;
use rusqlite::Error;

use super::file;
use crate::backend::Refusal;

/// Why the database did not answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Another program holds a lock that shuts readers out. Trying again may help.
    Locked(String),
    /// The statement was interrupted at its bound.
    Late,
    /// The statement cannot be run as it is written.
    Statement(String),
    /// The same of the operator's query: what is wrong with it.
    Query(String),
    /// Anything else.
    Refused(String),
}

const LATE: &str = "the statement did not end in time and was interrupted: is node_id indexed?";

/// Result codes, <https://www.sqlite.org/rescode.html>. The low byte is the primary code.
mod code {
    pub(super) const ERROR: i32 = 1;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const INTERRUPT: i32 = 9;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
    /// A crashed writer's rollback journal, which only a writer may play back.
    pub(super) const READONLY_ROLLBACK: i32 = 776;
}

impl Fault {
    /// Classifies what went wrong with the database at `path`.
    pub(crate) fn of(error: &Error, path: &Path) -> Self {
        let Some(number) = number(error) else {
            return Self::Refused(format!("{}: {error}", path.display()));
        };
        let shown = path.display();
        let sentence = match number & 0xff {
            code::BUSY | code::LOCKED => {
                return Self::Locked(format!("{shown} is locked by another program"));
            }
            code::INTERRUPT => return Self::Late,
            code::ERROR => return Self::Statement(message(error).to_owned()),
            code::READONLY if number == code::READONLY_ROLLBACK => format!(
                "{shown} was left in the middle of a write by a program that crashed ({shown}-journal): let a user who \
                 may write it run sqlite3 {shown} 'SELECT count(*) FROM sqlite_schema'"
            ),
            code::READONLY if number == code::READONLY => {
                return Self::Statement("the query writes, and credgate only reads".to_owned());
            }
            code::READONLY => file::unwritable_folder(path),
            code::IOERR => format!("{shown} cannot be read: {} (code {number})", message(error)),
            code::CORRUPT => format!("{shown} is damaged: {}", message(error)),
            code::CANTOPEN => file::cannot_open(path),
            code::NOTADB => format!("{shown} is not an SQLite database"),
            _ => format!("{shown}: {} (code {number})", message(error)),
        };
        Self::Refused(sentence)
    }
}

impl From<Fault> for ProviderError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Locked(text) => Self::TimedOut(text.into()),
            Fault::Late => Self::TimedOut(LATE.into()),
            Fault::Refused(text) | Fault::Statement(text) => Self::Unavailable(text.into()),
            Fault::Query(text) => Self::Unavailable(format!("the query (provider.sql.query) {text}").into()),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Query(text) => Self::Query(text.into()),
            Fault::Late => Self::Store(LATE.into()),
            Fault::Locked(text) | Fault::Refused(text) | Fault::Statement(text) => Self::Store(text.into()),
        }
    }
}

/// Whether the text of the statement is what is wrong.
pub(crate) fn is_about_the_text(error: &Error) -> bool {
    number(error) == Some(code::ERROR)
}

/// Whether a write was refused: the file, its folder or its file system may not be written.
pub(crate) fn is_read_only(error: &Error) -> bool {
    number(error).is_some_and(|number| matches!(number & 0xff, code::READONLY | code::CANTOPEN))
}

/// Whether the database says that a table is not there.
pub(crate) fn no_such_table(error: &Error) -> bool {
    message(error).starts_with("no such table")
}

fn number(error: &Error) -> Option<i32> {
    match error {
        Error::SqliteFailure(failure, _) | Error::SqlInputError { error: failure, .. } => Some(failure.extended_code),
        _ => None,
    }
}

/// SQLite's own words. They name tables, columns and tokens of the query, never a bound value.
pub(crate) fn message(error: &Error) -> &str {
    match error {
        Error::SqliteFailure(_, Some(text)) | Error::SqlInputError { msg: text, .. } => text,
        _ => "",
    }
}
