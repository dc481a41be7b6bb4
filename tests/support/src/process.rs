//! The real executables: started, watched through their log and `/proc`, signalled by process id, waited for.
//!
//! A process is held by a pidfd, so no signal can reach a stranger that got its number. It is killed when dropped.

mod executable;
mod gateway;
mod log;
mod usage;

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal},
};
use tokio::task::spawn_blocking;

pub use executable::{build_directory, executable};
pub use gateway::{Gateway, address};
pub use log::{Line, Log};
pub use rustix::process::Signal;
pub use usage::{Usage, processor_time};

/// A running program.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Mutex<Child>,
    pidfd: OwnedFd,
    /// Start, then each signal sent: what the duration of an exit counts from.
    since: Mutex<Instant>,
    /// What it writes to stderr: the gateway's log.
    pub log: Log,
    /// What it writes to stdout.
    pub stdout: Log,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    /// Counted from the last signal sent, or from the start.
    pub after: Duration,
}

/// A program that has ended, with all it wrote.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
}

impl Process {
    /// Starts a command without input.
    pub fn start(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let pid = Pid::from_child(&child);
        Self {
            log: Log::read(format!("stderr of {name}"), child.stderr.take().unwrap()),
            stdout: Log::read(format!("stdout of {name}"), child.stdout.take().unwrap()),
            name,
            child: Mutex::new(child),
            pidfd: pidfd_open(pid, PidfdFlags::empty()).unwrap(),
            since: Mutex::new(Instant::now()),
        }
    }

    /// Runs a command to its end.
    pub fn run(command: Command, bound: Duration) -> Finished {
        let process = Self::start(command);
        let exit = process.wait(bound);
        Finished { exit, stdout: process.stdout.whole(END_OF_OUTPUT), stderr: process.log.whole(END_OF_OUTPUT) }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Sends a signal; one to a process that has ended does nothing.
    pub fn signal(&self, signal: Signal) {
        *lock(&self.since) = Instant::now();
        match pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => panic!("{}: signal {signal:?}: {error}", self.name),
        }
    }

    /// SIGTERM: asks it to drain and end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        !ended_within(self.pidfd.as_fd(), Duration::ZERO)
    }

    /// Waits for its end, blocking the thread.
    pub fn wait(&self, bound: Duration) -> Exit {
        let ended = ended_within(self.pidfd.as_fd(), bound);
        self.exit(ended, bound)
    }

    /// Waits for its end while the test's own tasks go on.
    pub async fn ended(&self, bound: Duration) -> Exit {
        let pidfd = self.pidfd.try_clone().unwrap();
        let ended = spawn_blocking(move || ended_within(pidfd.as_fd(), bound)).await.unwrap();
        self.exit(ended, bound)
    }

    /// What it uses now.
    pub fn usage(&self) -> Usage {
        Usage::of(self.pid())
    }

    fn exit(&self, ended: bool, bound: Duration) -> Exit {
        assert!(ended, "{} has not ended within {bound:?}; {}", self.name, self.log.tail());
        let after = lock(&self.since).elapsed();
        let status = lock(&self.child).wait().unwrap();
        Exit { code: status.code(), signal: status.signal(), after }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A stopped process obeys SIGKILL too. Reaping it keeps the test's process free of zombies.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = lock(&self.child).wait();
    }
}

/// A pidfd becomes readable when its process ends (pidfd_open(2)).
fn ended_within(pidfd: BorrowedFd<'_>, bound: Duration) -> bool {
    let end = Instant::now() + bound;
    loop {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap();
        match poll(&mut [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)], Some(&left)) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            Err(error) => panic!("poll of a pidfd: {error}"),
        }
    }
}

/// A test that has already failed may still drop its processes.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long output may stay open after the end: only a child of the program could keep it.
const END_OF_OUTPUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
