//! Errors of MySQL and MariaDB in the operator's words. Numbers:
//! <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>, <https://mariadb.com/kb/en/mariadb-error-codes/>.
//! Only errors about names, rights and syntax are quoted; all others can hold values of rows, or user and host.

use sqlx::mysql::MySqlDatabaseError;

use crate::server::{Fault, unreachable};

/// While logging in.
pub(super) fn of_login(error: &sqlx::Error) -> Fault {
    let Some((number, _)) = told(error) else { return unreachable(error) };
    Fault::Refused(match number {
        1045 | 1698 | 1251 => {
            format!("the database server refuses the login: user or password is wrong (error {number})")
        }
        1130 => "the database server lets nobody in from this host (CREATE USER … @'HOST')".to_owned(),
        1044 => "the database server refuses the login: the user may not use this database (GRANT)".to_owned(),
        1049 => "the database server has no database of the name in provider.sql.url".to_owned(),
        1040 | 1203 | 1226 => format!(
            "the database server takes no more connections (max_connections there, provider.sql.max_connections \
             here; error {number})"
        ),
        1129 => "the database server has blocked this host after failed attempts (FLUSH HOSTS)".to_owned(),
        3159 => "the database server takes connections over TLS only: add ?sslmode=verify-full to the URL".to_owned(),
        _ => format!("the database server refuses the login (error {number})"),
    })
}

/// While a statement runs.
pub(super) fn of(error: &sqlx::Error) -> Fault {
    let Some((number, message)) = told(error) else {
        return match error {
            sqlx::Error::Io(error) => Fault::gone(error.kind()),
            sqlx::Error::ColumnIndexOutOfBounds { .. } => Fault::Statement("the query returns fewer columns".into()),
            _ => Fault::gone("the answer could not be understood"),
        };
    };
    match number {
        // max_statement_time, max_execution_time, a lock, KILL QUERY.
        1969 | 3024 | 1205 | 1317 => Fault::Late,
        // Shutdown, KILL, idle for too long, a statement that a changed table made void.
        1053 | 1927 | 1077 | 4031 | 1243 | 1615 => Fault::gone(format_args!("error {number}")),
        1792 => Fault::Statement("the query writes, and credgate only reads".to_owned()),
        1142 | 1143 | 1370 => Fault::Statement(format!("{} (GRANT SELECT)", without_user(&message))),
        1046 | 1051 | 1052 | 1054 | 1060 | 1064 | 1109 | 1146 | 1149 | 1222 | 1247 | 1248 | 1295 | 1305 | 1356 => {
            Fault::Statement(message)
        }
        1264 | 1292 | 1366 | 1367 | 1411 | 1690 | 3854 => {
            Fault::Value(format!("the database cannot convert the node ID or a value of its row (error {number})"))
        }
        _ => Fault::Statement(format!("the database server cannot run the statement (error {number})")),
    }
}

/// Number and message, where the server said something.
pub(super) fn told(error: &sqlx::Error) -> Option<(u16, String)> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some((error.number(), error.message().to_owned()))
}

/// Whether a table is not there.
pub(super) fn no_such_table(error: &sqlx::Error) -> bool {
    told(error).is_some_and(|(number, _)| number == 1146)
}

/// `SELECT command denied to user 'u'@'h' for table 't'`: what stands in the URL is left out.
fn without_user(message: &str) -> String {
    match (message.find(" to user "), message.find(" for ")) {
        (Some(user), Some(rest)) if user < rest => format!("{}{}", &message[..user], &message[rest..]),
        _ => "the user may not read what the query reads".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_names_the_table_and_not_the_user() {
        let text = without_user("SELECT command denied to user 'canary'@'localhost' for table `d`.`nodes`");
        assert_eq!(text, "SELECT command denied for table `d`.`nodes`");
    }
}
