//! PostgreSQL's errors in the operator's words. Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
//! Only errors about names, rights and syntax are quoted; all others can hold values of rows.

use crate::server::{Fault, unreachable};

/// While logging in.
pub(super) fn of_login(error: &sqlx::Error) -> Fault {
    let Some((code, message)) = told(error) else { return unreachable(error) };
    Fault::Refused(match code.as_str() {
        _ if message.contains("startup parameter") => {
            "a pooler refuses the login's options; set provider.sql.pooler = true".to_owned()
        }
        "28P01" | "28000" => format!(
            "PostgreSQL refuses the login: user or password is wrong, or pg_hba.conf does not let this user in from \
             here, or only with TLS (SQLSTATE {code})"
        ),
        "3D000" => "PostgreSQL has no database of the name in provider.sql.url".to_owned(),
        "42501" => "PostgreSQL refuses the login: the role may not use this database (GRANT CONNECT)".to_owned(),
        "53300" => {
            "PostgreSQL takes no more connections (max_connections there, provider.sql.max_connections here)".to_owned()
        }
        "57P03" => "PostgreSQL is starting up or shutting down".to_owned(),
        _ => format!("PostgreSQL refuses the login (SQLSTATE {code})"),
    })
}

/// While a statement runs.
pub(super) fn of(error: &sqlx::Error) -> Fault {
    let Some((code, message)) = told(error) else {
        return match error {
            sqlx::Error::Io(error) => Fault::gone(error.kind()),
            sqlx::Error::ColumnIndexOutOfBounds { .. } => Fault::Statement("the query returns fewer columns".into()),
            _ => Fault::gone("the answer could not be understood"),
        };
    };
    match code.as_str() {
        "57014" => Fault::Late,
        "08P01" if message.starts_with("bind message supplies") => {
            Fault::Statement("takes more than one parameter; it must take exactly one, the node ID, as $1".to_owned())
        }
        // Plans of tables that were changed, names of statements that a pooler lost.
        "0A000" if message.contains("cached plan") => Fault::gone("a table was changed"),
        "26000" | "42P05" | "08P01" => {
            Fault::gone("a statement was lost; behind a transaction-mode pooler set provider.sql.pooler = true")
        }
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => Fault::gone("PostgreSQL ended it or shuts down"),
        _ if code.starts_with("08") => Fault::gone(format_args!("SQLSTATE {code}")),
        _ if code.starts_with("22") => {
            Fault::Value(format!("the database cannot convert the node ID or a value of its row (SQLSTATE {code})"))
        }
        "42501" => Fault::Statement(format!("{message} (GRANT SELECT)")),
        "42883" => Fault::Statement(format!(
            "{message} (the parameter is text: compare an integer column with $1::bigint, bytea with \
             convert_to($1, 'UTF8'))"
        )),
        "25006" => Fault::Statement("the query writes, and credgate only reads".to_owned()),
        _ if code.starts_with("42") => Fault::Statement(message),
        _ => Fault::Statement(format!("PostgreSQL cannot run the statement (SQLSTATE {code})")),
    }
}

/// SQLSTATE and message, where the server said something.
pub(super) fn told(error: &sqlx::Error) -> Option<(String, String)> {
    let error = error.as_database_error()?;
    Some((error.code()?.into_owned(), error.message().to_owned()))
}

/// Whether a table is not there.
pub(super) fn no_such_table(error: &sqlx::Error) -> bool {
    told(error).is_some_and(|(code, _)| code == "42P01")
}
