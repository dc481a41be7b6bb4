//! One subject in one round: saturated at 8 and at 64 calls under way, then at half the better rate in an open loop.

use std::{sync::Arc, time::Duration};

use credgate_load::{Closed, Open, Report, closed, open_spinning};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::{
    bare::Bare,
    subject::{Server, Subject},
};

/// What one load has shown. Times are microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Right answers a second.
    pub rate: f64,
    pub p50: f64,
    pub p99: f64,
    /// The server's processor time for each call.
    pub server: f64,
    /// The same of its database.
    pub database: f64,
    /// The same of the load itself.
    pub load: f64,
    /// How late calls of an open loop began (p99): the load's own share of their times.
    pub late: f64,
    /// The p99 of a typical tenth of a second of it.
    pub typical: f64,
}

/// All loads of one round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub few: Load,
    pub many: Load,
    /// At half the rate of the better of the two; there is no open loop of a bare statement.
    pub half: Option<Load>,
    /// Bytes, where there is a server.
    pub memory: Option<u64>,
}

/// Calls under way at saturation.
pub const FEW: usize = 8;
pub const MANY: usize = 64;

/// Connections of the load.
pub const CONNECTIONS: usize = 8;

pub fn measure(subject: &Subject, time: Duration) -> Measured {
    if let Server::Bare(bare) = &subject.server {
        let [few, many] = [FEW, MANY].map(|outstanding| saturate_bare(subject, bare, outstanding, time));
        return Measured { few, many, half: None, memory: None };
    }
    let [few, many] = [FEW, MANY].map(|outstanding| load(subject, Plan::Saturated { outstanding }, time));
    let half = load(subject, Plan::Rate(few.rate.max(many.rate) / 2.0), time);
    Measured { few, many, half: Some(half), memory: subject.memory() }
}

/// How the load asks.
#[derive(Clone, Copy)]
pub enum Plan {
    /// So many calls under way.
    Saturated { outstanding: usize },
    /// So many calls begun in a second.
    Rate(f64),
}

/// Loads a server; every answer is right, or the figures would say nothing.
pub fn load(subject: &Subject, plan: Plan, duration: Duration) -> Load {
    // Handshakes, caches, threads.
    ask(subject, plan, duration / 10);
    let before = Times::of(subject);
    let report = ask(subject, plan, duration);
    let spent = Times::of(subject).since(before);
    assert!(report.others().is_empty(), "{}: {report:?}", subject.kind.name());
    let calls = report.right() as f64;
    Load {
        rate: calls / report.elapsed.as_secs_f64(),
        p50: micros(report.percentile("right", 50.0)),
        p99: micros(report.percentile("right", 99.0)),
        server: micros(spent.server) / calls,
        database: micros(spent.database) / calls,
        load: micros(spent.load) / calls,
        late: micros(report.late(99.0)),
        typical: micros(report.typical_p99()),
    }
}

/// The load itself, on one thread.
pub fn ask(subject: &Subject, plan: Plan, duration: Duration) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (caller, nodes) = (subject.caller(), Arc::clone(&subject.nodes));
    runtime.block_on(async {
        match plan {
            Plan::Saturated { outstanding } => {
                let plan = Closed { connections: CONNECTIONS, outstanding, calls: u64::MAX, duration };
                closed(&caller, &nodes, plan).await.unwrap()
            }
            Plan::Rate(rate) => {
                let plan = Open { connections: CONNECTIONS, rate, duration };
                open_spinning(&caller, &nodes, plan).await.unwrap()
            }
        }
    })
}

fn saturate_bare(subject: &Subject, bare: &Bare, outstanding: usize, duration: Duration) -> Load {
    bare.run(&subject.deployment, outstanding, duration / 10);
    let before = subject.database_time();
    let done = bare.run(&subject.deployment, outstanding, duration);
    let calls = done.times.len() as f64;
    let at = |part: usize| micros(done.times[(done.times.len() - 1) * part / 100]);
    Load {
        rate: calls / done.elapsed.as_secs_f64(),
        p50: at(50),
        p99: at(99),
        server: micros(done.processor_time) / calls,
        database: micros(subject.database_time() - before) / calls,
        load: 0.0,
        late: 0.0,
        typical: 0.0,
    }
}

#[derive(Clone, Copy)]
struct Times {
    server: Duration,
    database: Duration,
    load: Duration,
}

impl Times {
    fn of(subject: &Subject) -> Self {
        Self { server: subject.processor_time(), database: subject.database_time(), load: own(ClockId::ProcessCPUTime) }
    }

    fn since(self, before: Self) -> Self {
        Self {
            server: self.server - before.server,
            database: self.database - before.database,
            load: self.load - before.load,
        }
    }
}

/// Processor time of this process or thread.
pub fn own(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
