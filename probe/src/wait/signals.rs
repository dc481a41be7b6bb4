//! The signals that end a wait, so that its record goes with it.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handlers for SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl Signals {
    /// From here on they do not end the process.
    pub fn install() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Name and number of the first that comes.
    pub async fn next(&mut self) -> (&'static str, u8) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", 2),
            _ = self.terminate.recv() => ("SIGTERM", 15),
            _ = hangup => ("SIGHUP", 1),
        }
    }
}

/// SIGHUP is the first bit of the mask of ignored signals (proc_pid_status(5)); where there is no such file, it is taken
/// for not ignored.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
