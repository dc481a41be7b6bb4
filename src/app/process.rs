//! The process itself: its limits, set before anything is opened, and what it uses of them (proc(5)).

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More descriptors cost nothing; the hard limit is what the administrator grants.
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "cannot raise the descriptor limit to the hard one");
    }
}

/// Memory holds every password in clear.
pub fn forbid_core_dumps() {
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }) {
        tracing::warn!(%error, "cannot forbid core dumps");
    }
}

/// Bytes.
pub fn resident_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.map_or(0, |kilobytes: usize| kilobytes << 10)
}

/// How many descriptors are open.
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// How many there may be.
pub fn most_descriptors() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}
