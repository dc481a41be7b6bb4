//! Who runs where: servers on one core, the load on another. Both share the rest of the machine with nobody, it is hoped.
//!
//! What a machine does for itself it often does on one of its cores. Servers get the core that is taken away less.

use std::{
    fmt,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A core, and what it lost of the time in which it was looked at.
#[derive(Clone, Copy, Debug)]
struct Core {
    number: usize,
    lost: Duration,
}

/// The choice.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    server: Core,
    load: Core,
}

static CORES: OnceLock<Cores> = OnceLock::new();

impl Cores {
    /// Made once: the two first cores that this process may use, both busy for a moment.
    pub fn get() -> Self {
        *CORES.get_or_init(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).take(2).collect();
            assert_eq!(numbers.len(), 2, "two cores are needed: one for the servers, one for the load");
            let looks: Vec<_> = numbers.into_iter().map(|core| thread::spawn(move || look(core))).collect();
            let mut cores: Vec<Core> = looks.into_iter().map(|look| look.join().unwrap()).collect();
            cores.sort_by_key(|core| core.lost);
            Self { server: cores[0], load: cores[1] }
        })
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, load } = self;
        write!(f, "Servers on {server}, the load on {load}.")
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.lost.as_secs_f64() / LOOK.as_secs_f64();
        write!(f, "core {} (away {:.1} % of the time)", self.number, share * 100.0)
    }
}

/// Keeps the calling thread, and what it starts from now on, on the load's core.
pub fn pin_load() {
    pin(Cores::get().load.number);
}

/// The same for the servers'.
pub fn pin_server() {
    pin(Cores::get().server.number);
}

/// Starts something on the servers' core: processes keep the core of the thread that starts them.
pub fn on_server<T>(start: impl FnOnce() -> T) -> T {
    pin_server();
    let started = start();
    pin_load();
    started
}

fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).unwrap();
}

/// Keeps a core busy, and adds up the moments in which it was not.
fn look(number: usize) -> Core {
    pin(number);
    let (begin, mut last, mut lost) = (Instant::now(), Instant::now(), Duration::ZERO);
    while begin.elapsed() < LOOK {
        let gap = last.elapsed();
        last += gap;
        lost += if gap > GAP { gap } else { Duration::ZERO };
    }
    Core { number, lost }
}

const LOOK: Duration = Duration::from_secs(3);

/// Longer than an interrupt takes.
const GAP: Duration = Duration::from_micros(100);
