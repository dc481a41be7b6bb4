//! What a process uses, from `/proc` (proc(5)).

use std::{fs, time::Duration};

/// A snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory in bytes.
    pub memory: u64,
    /// CPU time, user and system, since the start.
    pub cpu: Duration,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
}

impl Usage {
    pub(super) fn of(pid: u32) -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        let status = read("status");
        Self {
            memory: number(&status, "VmRSS:") * 1024,
            cpu: cpu(&read("stat")),
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
            threads: usize::try_from(number(&status, "Threads:")).unwrap(),
        }
    }
}

/// CPU time of a process; none when it has ended.
pub fn processor_time(pid: u32) -> Duration {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(Duration::ZERO, |stat| cpu(&stat))
}

fn number(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let line = line.unwrap_or_else(|| panic!("no {key} in {status}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Fields 14 and 15, counted behind the name in parentheses, which may hold blanks.
fn cpu(stat: &str) -> Duration {
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}
