//! One round of one subject: saturated at 8 and at 64 calls under way, then at half the better rate in an open loop.

use std::{sync::Arc, time::Duration};

use credgate_load::{Closed, Open, Report, closed, open};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    bare::Bare,
    subject::{Server, Subject},
};

/// What one load has shown.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Right answers a second.
    pub rate: f64,
    /// Microseconds.
    pub p50: f64,
    /// Microseconds.
    pub p99: f64,
    /// Microseconds of the server's processor time for each call.
    pub server: f64,
    /// The same of its database.
    pub database: f64,
    /// The same of the load itself.
    pub load: f64,
}

/// All loads of one round; half the rate of the better of the two others.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub few: Load,
    pub many: Load,
    pub half: Load,
    /// Bytes, where there is a server.
    pub memory: Option<u64>,
}

const OUTSTANDING: [usize; 2] = [8, 64];

/// Connections of the load.
const CONNECTIONS: usize = 8;

pub fn round(subject: &Subject, time: Duration) -> Round {
    let [few, many] = OUTSTANDING.map(|outstanding| match &subject.server {
        Server::Bare(bare) => saturate_bare(subject, bare, outstanding, time),
        _ => load(subject, Plan::Saturated { outstanding }, time),
    });
    let rate = few.rate.max(many.rate) / 2.0;
    let half = match &subject.server {
        // There is no open loop of a loop.
        Server::Bare(_) => few,
        _ => load(subject, Plan::Rate(rate), time),
    };
    Round { few, many, half, memory: subject.memory() }
}

enum Plan {
    Saturated { outstanding: usize },
    Rate(f64),
}

fn load(subject: &Subject, plan: Plan, duration: Duration) -> Load {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let caller = subject.caller().unwrap();
    let nodes = Arc::clone(&subject.nodes);
    let run = |duration| {
        runtime.block_on(async {
            match plan {
                Plan::Saturated { outstanding } => {
                    let plan = Closed { connections: CONNECTIONS, outstanding, calls: u64::MAX, duration };
                    closed(&caller, &nodes, plan).await.unwrap()
                }
                Plan::Rate(rate) => {
                    open(&caller, &nodes, Open { connections: CONNECTIONS, rate, duration }).await.unwrap()
                }
            }
        })
    };
    // Handshakes, caches, threads.
    run(duration / 10);
    let before = Times::of(subject);
    let report = run(duration);
    judge(subject, &report);
    let calls = report.right() as f64;
    let spent = Times::of(subject).since(before);
    Load {
        rate: calls / report.elapsed.as_secs_f64(),
        p50: micros(report.percentile("right", 50.0)),
        p99: micros(report.percentile("right", 99.0)),
        server: micros(spent.server) / calls,
        database: micros(spent.database) / calls,
        load: micros(spent.load) / calls,
    }
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
    }
}

/// A wrong answer, or none, ends the whole run: its figures would say nothing.
fn judge(subject: &Subject, report: &Report) {
    assert!(report.others().is_empty(), "{}: {report:?}", subject.kind.name());
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

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
