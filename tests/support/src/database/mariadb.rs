//! MariaDB as Debian packages it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Database, OWNER, PATIENCE, READER, user};
use crate::process::Process;

/// The server.
pub(super) fn program() -> PathBuf {
    let found = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].map(PathBuf::from).into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("these tests need MariaDB: apt-get install mariadb-server"))
}

/// Small files, since they are copied for every server.
const SMALL: [&str; 2] = ["--innodb-log-file-size=4M", "--innodb-data-file-path=ibdata1:4M:autoextend"];

/// Makes a data folder.
pub(super) fn make(data: &Path) {
    let mut command = user::command("mariadb-install-db");
    command.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]).args(SMALL);
    command.arg(format!("--datadir={}", data.display()));
    let done = Process::run(command, PATIENCE);
    assert_eq!(done.exit.code, Some(0), "{}{}", done.stdout, done.stderr);
}

/// The command that runs the server.
pub(super) fn server(database: &Database) -> Command {
    let folder = database.folder();
    let mut command = user::command(program());
    command.arg("--no-defaults").args(SMALL);
    command.arg(format!("--datadir={}/data", folder.display())).arg(format!("--socket={}/socket", folder.display()));
    command.arg(format!("--port={}", database.port)).args([
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-doublewrite=0",
        "--innodb-buffer-pool-size=16M",
        "--performance-schema=off",
        "--max-connect-errors=1000000",
        "--max-connections=60",
    ]);
    command.args(database.settings.iter().map(|setting| format!("--{setting}")));
    command
}

pub(super) fn client(folder: &Path, database: &str) -> Command {
    let mut command = user::command("mariadb");
    command.args(["--no-defaults", "--batch", "--skip-column-names", "--raw", "-u", "root", "-D", database]);
    command.arg(format!("--socket={}/socket", folder.display())).arg("-e");
    command
}

pub(super) fn make_roles(database: &Database) {
    let password = &database.password;
    let mut sql = "CREATE DATABASE credgate CHARACTER SET utf8mb4;".to_owned();
    // Both, since without names localhost is the socket alone.
    for host in ["%", "localhost"] {
        for (role, rights) in [(OWNER, "ALL"), (READER, "SELECT")] {
            sql += &format!(
                "CREATE USER '{role}'@'{host}' IDENTIFIED BY '{password}'; \
                 GRANT {rights} ON credgate.* TO '{role}'@'{host}';"
            );
        }
    }
    database.sql_in("mysql", &sql);
}
