//! Whether probes notice that lookups are offered at twice what the gateway can do.
//!
//! What a store bounds is offered in an open loop at twice its saturated rate. Where the gateway itself is the bound, as with
//! csv, no load of one core can offer that: then twice as many calls are under way as there are slots. The load gives way to
//! the probes on their common core, or it would be the load that they wait for.

use std::{fmt, sync::Arc, thread, time::Duration};

use credgate_load::{Closed, Open, Report, closed, open_spinning, probes};
use rustix::process::nice;

use crate::{
    NODES,
    measure::{self, Plan},
    subject::{Kind, Server, Subject},
    table::time,
};

/// Probes a second.
const PROBES: f64 = 10.0;

/// Calls under way where the gateway is the bound: twice the slots of csv.
const CROWD: usize = 2048;

/// Connections of the crowd: each may have 256 calls under way.
const CONNECTIONS: usize = 16;

const AT_CAPACITY: &str = "RESOURCE_EXHAUSTED AT_CAPACITY";

/// Of the load, where probes have 0.
const NICENESS: i32 = 10;

pub fn print(kinds: &[Kind], duration: Duration) {
    println!("| subject | lookups | answered/s | refused/s | p99 of answered | probes | p50 | p99 | slowest |");
    println!("|{}", "---|".repeat(9));
    for kind in kinds {
        let subject = Subject::start(*kind, NODES);
        println!("| {} | none | | | | {}", kind.name(), columns(&probe(&subject, duration)));
        let offer = Offer::twice(&subject);
        let (probes, lookups) = thread::scope(|scope| {
            let load = scope.spawn(|| {
                nice(NICENESS).unwrap();
                offer.run(&subject, duration)
            });
            let probes = probe(&subject, duration);
            (probes, load.join().unwrap())
        });
        let each_second = |calls: u64| calls as f64 / lookups.elapsed.as_secs_f64();
        println!(
            "| {} | {offer} | {:.0} | {:.0} | {} | {}",
            kind.name(),
            each_second(lookups.right()),
            each_second(lookups.count(AT_CAPACITY)),
            time(measure::micros(lookups.percentile("right", 99.0))),
            columns(&probes),
        );
        assert_eq!(lookups.right() + lookups.count(AT_CAPACITY), lookups.calls(), "{lookups:?}");
        assert_eq!(probes.right(), probes.calls(), "{probes:?}");
    }
}

/// Twice what a gateway can do.
enum Offer {
    Crowd(usize),
    Rate(f64),
}

impl Offer {
    fn twice(subject: &Subject) -> Self {
        if subject.kind == Kind::Csv {
            return Self::Crowd(CROWD);
        }
        let saturated = measure::load(subject, Plan::Saturated { outstanding: measure::MANY }, Duration::from_secs(2));
        Self::Rate(saturated.rate * 2.0)
    }

    fn run(&self, subject: &Subject, duration: Duration) -> Report {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (caller, nodes) = (subject.caller(), Arc::clone(&subject.nodes));
        runtime.block_on(async {
            let lookups = match *self {
                Self::Crowd(outstanding) => {
                    let plan = Closed { connections: CONNECTIONS, outstanding, calls: u64::MAX, duration };
                    closed(&caller, &nodes, plan).await
                }
                Self::Rate(rate) => {
                    open_spinning(&caller, &nodes, Open { connections: CONNECTIONS, rate, duration }).await
                }
            };
            lookups.unwrap()
        })
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crowd(outstanding) => write!(f, "{outstanding} under way"),
            Self::Rate(rate) => write!(f, "{rate:.0}/s"),
        }
    }
}

/// What probes see for so long.
fn probe(subject: &Subject, duration: Duration) -> Report {
    let Server::Gateway(gateway) = &subject.server else { unreachable!("only a gateway has a control listener") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let probes = async {
        let end = tokio::time::Instant::now() + duration;
        probes(&subject.deployment, gateway.control, PROBES, end).await
    };
    runtime.block_on(probes).unwrap()
}

fn columns(probes: &Report) -> String {
    let [p50, p99, slowest] = [50.0, 99.0, 100.0].map(|part| time(measure::micros(probes.percentile("right", part))));
    format!("{} | {p50} | {p99} | {slowest} |", probes.right())
}
