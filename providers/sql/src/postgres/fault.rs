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
        // A subquery that returns two rows is about the rows of this node, too.
        _ if code.starts_with("22") || code == "21000" => {
            Fault::Value(format!("the database cannot convert the node ID or a value of its row (SQLSTATE {code})"))
        }
        "42501" => denied(message),
        "42883" => Fault::Statement(format!(
            "{message} (the parameter is text: compare an integer column with $1::bigint, bytea with \
             convert_to($1, 'UTF8'))"
        )),
        "25006" => Fault::Statement("the query writes, and credgate only reads".to_owned()),
        _ if code.starts_with("42") || code == "0A000" => Fault::Statement(message),
        _ => Fault::Refused(format!("PostgreSQL cannot run the statement (SQLSTATE {code})")),
    }
}

/// `permission denied for table nodes`: kind and name are its last words, where the server speaks English.
fn denied(message: String) -> Fault {
    let grant = match message.strip_prefix("permission denied for ").and_then(|thing| thing.rsplit_once(' ')) {
        Some(("schema", name)) => format!("GRANT USAGE ON SCHEMA {}", quoted(name)),
        Some(("function" | "procedure" | "routine", name)) => format!("GRANT EXECUTE ON FUNCTION {}", quoted(name)),
        Some((_, name)) => format!("GRANT SELECT ON {}", quoted(name)),
        None => "GRANT SELECT ON the tables that the query reads".to_owned(),
    };
    Fault::denied(message, grant)
}

/// A name as a statement has to write it.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_names_the_grant() {
        for (message, wanted) in [
            ("permission denied for table nodes", "GRANT SELECT ON nodes TO reader"),
            ("permission denied for view user_Nodes", "GRANT SELECT ON \"user_Nodes\" TO reader"),
            ("permission denied for schema credentials", "GRANT USAGE ON SCHEMA credentials TO reader"),
            ("permission denied for function secret_of", "GRANT EXECUTE ON FUNCTION secret_of TO reader"),
            ("keine Berechtigung für Tabelle nodes", "GRANT SELECT ON the tables that the query reads TO reader"),
        ] {
            let text = denied(message.to_owned()).of_role("reader").to_string();
            assert_eq!(text, format!("{message}: {wanted}"));
        }
    }
}
