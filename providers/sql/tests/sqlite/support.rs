//! A folder with a database in it, and the other process that writes to it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use credgate_provider::{Prepared, Provider, Report};
use credgate_sql::{Database, SqlKind};
use credgate_support::provider;
use tempfile::TempDir;

/// A table of another program, and the query for it.
pub const TABLE: &str = "CREATE TABLE nodes (node_id TEXT, password TEXT, enabled)";
pub const QUERY: &str = "query = 'SELECT node_id, password, enabled FROM nodes WHERE node_id = ?'";

pub struct Store {
    dir: TempDir,
}

/// A `sqlite3` process that stays connected.
pub struct Writer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Store {
    /// A folder without a database.
    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A database that another program has made.
    pub fn with(sql: &str) -> Self {
        let store = Self::empty();
        store.sql(sql);
        store
    }

    /// credgate's own schema, without a node.
    pub async fn migrated() -> Self {
        let store = Self::empty();
        credgate_sql::migrate(&store.database()).await.unwrap();
        store
    }

    pub fn path(&self) -> PathBuf {
        self.file("nodes.db")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// What the commands of the gateway are given.
    pub fn database(&self) -> Database {
        let report = Report::default();
        let document = provider::document(&SqlKind, self.folder(), "url = 'sqlite:nodes.db'", &report);
        let settings = document.root(&report).section("provider").section("sql");
        SqlKind.own_schema(&settings, None, self.folder(), &report).unwrap()
    }

    /// Runs a script in another process.
    pub fn sql(&self, script: &str) -> String {
        sql(&self.path(), script)
    }

    /// Another process that stays.
    pub fn writer(&self) -> Writer {
        let mut child = program().arg(self.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Writer { child, input, output }
    }

    /// What `settings` add to the URL; the problems where it cannot be prepared.
    pub fn prepare(&self, settings: &str) -> Result<Box<dyn Prepared>, Vec<String>> {
        prepare(self.folder(), &format!("url = 'sqlite:nodes.db'\n{settings}"))
    }

    pub async fn try_open(&self, settings: &str) -> Result<Box<dyn Provider>, String> {
        self.try_open_within(settings, provider::OPENING).await
    }

    pub async fn try_open_within(&self, settings: &str, timeout: Duration) -> Result<Box<dyn Provider>, String> {
        provider::open(self.prepare(settings).unwrap(), timeout).await
    }

    pub async fn open(&self, settings: &str) -> Box<dyn Provider> {
        self.try_open(settings).await.unwrap()
    }
}

impl Writer {
    /// Runs a script and waits until it has run.
    pub fn run(&mut self, script: &str) {
        writeln!(self.input, "{script}\n.print done").unwrap();
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "sqlite3 ended in: {script}");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Runs a script on any file.
pub fn sql(path: &Path, script: &str) -> String {
    let output = program().arg("-bail").arg(path).arg(script).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn program() -> Command {
    let found = Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "these tests need the program sqlite3: apt-get install sqlite3");
    Command::new("sqlite3")
}

/// Prepares `[provider.sql]` as it stands in a folder.
pub fn prepare(base: &Path, settings: &str) -> Result<Box<dyn Prepared>, Vec<String>> {
    provider::prepare(&SqlKind, provider::site(base), settings)
}

/// Runs `test` as a user without rights: root may read and write everything. File rights count per thread on Linux, and
/// the threads that the runtime and the connections start inherit this one's.
pub fn without_rights(test: impl FnOnce(&tokio::runtime::Runtime) + Send) {
    use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    std::thread::scope(|scope| {
        let run = || {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            test(&tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
        };
        scope.spawn(run).join().unwrap();
    });
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
