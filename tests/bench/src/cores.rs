//! Who runs where: servers on one core, the load on another. Both share the rest of the machine with nobody, it is hoped.

use rustix::thread::{CpuSet, sched_setaffinity};

/// The core of the servers and their databases.
pub const SERVER: usize = 0;
/// The core of the load.
pub const LOAD: usize = 1;

/// Keeps the calling thread, and what it starts from now on, on a core.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).unwrap();
}

/// Starts something on the servers' core: processes keep the core of the thread that starts them.
pub fn on_server<T>(start: impl FnOnce() -> T) -> T {
    pin(SERVER);
    let started = start();
    pin(LOAD);
    started
}
