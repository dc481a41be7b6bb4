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

const WRITES: &str = "the query writes, and credgate only reads";

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
        1792 => Fault::Statement(WRITES.to_owned()),
        1142 | 1143 if !message.starts_with("SELECT") => Fault::Statement(WRITES.to_owned()),
        1044 | 1142 | 1143 | 1370 => denied(&message),
        // A view over what is not there, or what its reader may not read: the view is wrong, not who asks it.
        1356 => Fault::Refused(message),
        1046 | 1051 | 1052 | 1054 | 1055 | 1056 | 1060 | 1064 | 1066 | 1109 | 1111 | 1115 | 1140 | 1146 | 1149
        | 1222 | 1235 | 1241 | 1247 | 1248 | 1253 | 1267 | 1270 | 1271 | 1273 | 1295 | 1305 | 1318 | 1582 | 1630 => {
            Fault::Statement(message)
        }
        // A subquery that returns two rows (1242) is about the rows of this node, too.
        1242 | 1264 | 1292 | 1366 | 1367 | 1411 | 1690 | 3854 => {
            Fault::Value(format!("the database cannot convert the node ID or a value of its row (error {number})"))
        }
        _ => Fault::Refused(format!("the database server cannot run the statement (error {number})")),
    }
}

/// `SELECT command denied to user 'u'@'h' for table 't'`; a column is denied `for column 'c' in table 't'`.
fn denied(message: &str) -> Fault {
    let said = without_user(message);
    let named = |before: &str| message.rsplit_once(before).map(|(_, name)| name.trim_matches('\''));
    let grant = match (named(" for routine "), named(" in table ").or_else(|| named(" for table "))) {
        (Some(routine), _) => format!("GRANT EXECUTE ON FUNCTION {routine}"),
        (None, Some(table)) => format!("GRANT SELECT ON {table}"),
        (None, None) => "GRANT SELECT ON the tables that the query reads".to_owned(),
    };
    Fault::denied(said, grant)
}

/// The account `credgate@10.0.0.%` as a statement has to write it.
pub(super) fn quoted(account: &str) -> String {
    match account.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => format!("'{account}'"),
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

    #[test]
    fn a_missing_right_names_the_grant() {
        for (rest, wanted) in [
            ("for table `d`.`nodes`", "GRANT SELECT ON `d`.`nodes`"),
            ("for table 'nodes'", "GRANT SELECT ON nodes"),
            ("for column 'secret' in table 'nodes'", "GRANT SELECT ON nodes"),
            ("for routine 'd.secret_of'", "GRANT EXECUTE ON FUNCTION d.secret_of"),
        ] {
            let fault = denied(&format!("SELECT command denied to user 'canary'@'localhost' {rest}"));
            let text = fault.of_role(&quoted("reader@10.0.0.%")).to_string();
            assert_eq!(text, format!("SELECT command denied {rest}: {wanted} TO 'reader'@'10.0.0.%'"));
        }
    }
}
