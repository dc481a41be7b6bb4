//! What can happen to a server, and what it knows of its connections.

use std::{fs, sync::PoisonError, time::Instant};

use super::{Database, Kind, PATIENCE, READER, mariadb, postgres};
use crate::process::{Process, Signal};

impl Database {
    /// Starts the server, with the data it has; returns when it takes connections.
    #[track_caller]
    pub fn start_again(&self) {
        let process = Process::start(match self.kind {
            Kind::Postgres => postgres::server(self),
            Kind::MariaDb => mariadb::server(self),
        });
        let (ready, log) = match self.kind {
            Kind::Postgres => ("database system is ready to accept connections", &process.log),
            Kind::MariaDb => ("ready for connections", &process.log),
        };
        log.wait_for(|line| line.text.contains(ready), PATIENCE);
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
    }

    /// Stops the server in good order; connections are ended by it.
    #[track_caller]
    pub fn stop(&self) {
        let process = self.take();
        process.signal(match self.kind {
            Kind::Postgres => Signal::INT,
            Kind::MariaDb => Signal::TERM,
        });
        process.wait(PATIENCE);
    }

    /// SIGKILL. PostgreSQL's other processes end when they notice.
    #[track_caller]
    pub fn kill(&self) {
        let process = self.take();
        self.signal_all(&process, Signal::KILL);
        process.wait(PATIENCE);
    }

    /// Stops and starts it.
    #[track_caller]
    pub fn restart(&self) {
        self.stop();
        self.start_again();
    }

    /// SIGSTOP to all of its processes: the kernel takes connections, nobody answers. Returns when every thread stands
    /// still: the signal reaches them one after another, and one that still runs can answer.
    #[track_caller]
    pub fn freeze(&self) {
        self.signal_running(Signal::STOP);
        let began = Instant::now();
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let first = process.as_ref().unwrap_or_else(|| panic!("the database is not running")).pid();
        while !std::iter::once(first).chain(children(first)).all(stands_still) {
            assert!(began.elapsed() < PATIENCE, "the database does not stand still");
            std::thread::yield_now();
        }
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.signal_running(Signal::CONT);
    }

    /// Ends every connection of the reading role: `pg_terminate_backend`, `KILL`.
    pub fn end_connections(&self) -> usize {
        let ids = self.sql(&self.of_reader(self.id(), ""));
        let ids: Vec<&str> = ids.lines().collect();
        for id in &ids {
            let mut command = self.client("credgate");
            command.arg(match self.kind {
                Kind::Postgres => format!("SELECT pg_terminate_backend({id})"),
                Kind::MariaDb => format!("KILL {id}"),
            });
            // It may be gone by now.
            Process::run(command, PATIENCE);
        }
        ids.len()
    }

    /// Connections of the reading role.
    pub fn connections(&self) -> usize {
        self.sql(&self.of_reader("count(*)", "")).trim().parse().unwrap()
    }

    /// Statements of the reading role that run now.
    pub fn statements(&self) -> usize {
        let running = match self.kind {
            Kind::Postgres => " AND state = 'active'",
            Kind::MariaDb => " AND command IN ('Query', 'Execute')",
        };
        self.sql(&self.of_reader("count(*)", running)).trim().parse().unwrap()
    }

    /// Processor time of the server so far, all its processes together.
    pub fn processor_time(&self) -> std::time::Duration {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process.as_ref().unwrap_or_else(|| panic!("the database is not running"));
        let ids = std::iter::once(process.pid()).chain(children(process.pid()));
        ids.map(crate::process::processor_time).sum()
    }

    pub(super) fn signal_all(&self, process: &Process, signal: Signal) {
        // The first one first: it makes no new ones then.
        let before = children(process.pid());
        process.signal(signal);
        for child in before.into_iter().chain(children(process.pid())) {
            if let Some(pid) = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw) {
                // A child that has ended is as good as signalled.
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }

    fn signal_running(&self, signal: Signal) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        self.signal_all(process.as_ref().unwrap_or_else(|| panic!("the database is not running")), signal);
    }

    #[track_caller]
    fn take(&self) -> Process {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        process.unwrap_or_else(|| panic!("the database is not running"))
    }

    fn id(&self) -> &'static str {
        match self.kind {
            Kind::Postgres => "pid",
            Kind::MariaDb => "id",
        }
    }

    fn of_reader(&self, what: &str, and: &str) -> String {
        match self.kind {
            Kind::Postgres => format!("SELECT {what} FROM pg_stat_activity WHERE usename = '{READER}'{and}"),
            Kind::MariaDb => {
                format!("SELECT {what} FROM information_schema.processlist WHERE user = '{READER}'{and}")
            }
        }
    }
}

/// Whether every thread of a process is stopped (state `T` of proc(5)) or has ended.
fn stands_still(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| match fs::read_to_string(thread.path().join("stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 'Z', 'X'])),
        Err(_) => true,
    })
}

/// PostgreSQL has one process per connection and some more; MariaDB has none below it.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
