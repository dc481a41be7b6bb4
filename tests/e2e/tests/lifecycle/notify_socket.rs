//! The other end of systemd's notification protocol: a socket, and what has come.

use std::{
    ops::ControlFlow,
    os::unix::net::UnixDatagram,
    path::PathBuf,
    process::Command,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use credgate_support::deployment::Deployment;
use tokio::time::{Instant, timeout};

use crate::ground::BOUND;

/// A socket as `NOTIFY_SOCKET` names it, and what has come.
pub struct Supervisor {
    path: PathBuf,
    socket: tokio::net::UnixDatagram,
    heard: Mutex<Vec<String>>,
}

impl Supervisor {
    /// In the deployment's folder.
    pub fn new(deployment: &Deployment) -> Self {
        let path = deployment.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { path, socket: tokio::net::UnixDatagram::from_std(socket).unwrap(), heard: Mutex::default() }
    }

    /// Makes a command tell this supervisor.
    pub fn notify(&self, command: &mut Command) {
        command.env("NOTIFY_SOCKET", &self.path).env_remove("WATCHDOG_USEC").env_remove("WATCHDOG_PID");
    }

    /// The same, with a watchdog that wants to be fed within that time.
    pub fn watch(&self, command: &mut Command, within: Duration) {
        self.notify(command);
        command.env("WATCHDOG_USEC", within.as_micros().to_string());
    }

    /// Waits for a line.
    pub async fn until(&self, wanted: &str) {
        assert!(self.hears(wanted, BOUND).await, "no {wanted}; heard {:?}", self.heard());
    }

    /// Whether a line comes within a time, or has come.
    pub async fn hears(&self, wanted: &str, within: Duration) -> bool {
        let end = Instant::now() + within;
        loop {
            if self.heard().iter().any(|line| line == wanted) {
                return true;
            }
            if self.receive(end.saturating_duration_since(Instant::now())).await.is_break() {
                return false;
            }
        }
    }

    /// Forgets what has come, what waits in the socket included.
    pub fn forget(&self) {
        let mut bytes = [0; 4096];
        while self.socket.try_recv(&mut bytes).is_ok() {}
        self.heard().clear();
    }

    /// Takes what is there, and returns everything so far.
    pub async fn everything(&self) -> Vec<String> {
        while self.receive(Duration::from_millis(100)).await.is_continue() {}
        self.heard().clone()
    }

    /// Takes the next message.
    pub async fn receive(&self, within: Duration) -> ControlFlow<()> {
        let mut bytes = [0; 4096];
        let Ok(count) = timeout(within, self.socket.recv(&mut bytes)).await else { return ControlFlow::Break(()) };
        let text = String::from_utf8(bytes[..count.unwrap()].to_vec()).unwrap();
        self.heard().extend(text.lines().map(str::to_owned));
        ControlFlow::Continue(())
    }

    /// The lines so far.
    pub fn heard(&self) -> MutexGuard<'_, Vec<String>> {
        self.heard.lock().unwrap()
    }
}
