//! pgbouncer, the Debian package, in transaction mode before a throwaway PostgreSQL.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    database::{self, Database, READER},
    process::Process,
};

/// A running pooler.
#[derive(Debug)]
pub struct Pgbouncer {
    _dir: TempDir,
    port: u16,
    _process: Process,
}

impl Pgbouncer {
    /// A pooler that opens at most `size` connections to the server.
    pub fn before(database: &Database, size: usize) -> Self {
        let (port, server) = (database::free_port(), database.address().port());
        let password = &database.password;
        let users = format!("\"{READER}\" \"{password}\"\n");
        let dir = database::files(&[("users.txt", users.as_bytes())]);
        let folder = dir.path().display();
        let settings = format!(
            "[databases]\ncredgate = host=127.0.0.1 port={server} dbname=credgate\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\n\
             auth_file = {folder}/users.txt\npool_mode = transaction\ndefault_pool_size = {size}\n\
             server_login_retry = 0\nlog_connections = 0\nlog_disconnections = 0\n"
        );
        let file = dir.path().join("pgbouncer.ini");
        database::write(&file, settings.as_bytes());
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];
        let program = program.into_iter().find(|path| std::path::Path::new(path).is_file());
        let program = program.unwrap_or_else(|| panic!("these tests need pgbouncer: apt-get install pgbouncer"));
        let mut command = database::command(program);
        command.arg(file);
        let process = Process::start(command);
        process.log.wait_for(|line| line.text.contains("process up"), Duration::from_secs(60));
        Self { _dir: dir, port, _process: process }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}
