//! PostgreSQL as Debian packages it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Database, OWNER, PATIENCE, READER, user};
use crate::process::Process;

/// A program of the newest version that is installed.
pub(super) fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    folders.retain(|folder| folder.join(name).is_file());
    folders.sort();
    folders.pop().unwrap_or_else(|| panic!("these tests need PostgreSQL: apt-get install postgresql")).join(name)
}

/// Makes a data folder.
pub(super) fn make(data: &Path) {
    let mut command = user::command(program("initdb"));
    command.args(["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-D"]);
    command.arg(data);
    let done = Process::run(command, PATIENCE);
    assert_eq!(done.exit.code, Some(0), "{}{}", done.stdout, done.stderr);
}

/// The command that runs the server.
pub(super) fn server(database: &Database) -> Command {
    let folder = database.folder();
    user::write(&folder.join("data/pg_hba.conf"), b"local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
    let mut command = user::command(program("postgres"));
    command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    command.args(["-p", &database.port.to_string()]);
    let fast = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=16MB", "autovacuum=off"];
    let plain = ["listen_addresses=127.0.0.1", "max_connections=60", "log_min_messages=warning"];
    for setting in fast.into_iter().chain(plain).chain(database.settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command
}

pub(super) fn client(folder: &Path, port: u16, database: &str) -> Command {
    let mut command = user::command(program("psql"));
    command.args(["--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-qAt", "-F", "\t", "-U", "postgres", "-d", database, "-h"]);
    command.arg(folder).args(["-p", &port.to_string(), "-c"]);
    command
}

pub(super) fn make_roles(database: &Database) {
    let password = &database.password;
    for sql in [
        format!("CREATE ROLE {OWNER} LOGIN PASSWORD '{password}'"),
        format!("CREATE ROLE {READER} LOGIN PASSWORD '{password}'"),
        format!("CREATE DATABASE credgate OWNER {OWNER}"),
    ] {
        database.sql_in("postgres", &sql);
    }
    database.sql(&format!(
        "GRANT ALL ON SCHEMA public TO {OWNER}; GRANT USAGE ON SCHEMA public TO {READER}; \
         ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public GRANT SELECT ON TABLES TO {READER}; \
         ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA public GRANT SELECT ON TABLES TO {READER}"
    ));
}
