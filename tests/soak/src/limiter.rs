//! The rate limiter's memory under keys without end.
//!
//! Source addresses are thrown at the limiter itself, since a machine has not so many; node IDs at a gateway.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use credgate::{
    admission::{Limit, Rate, RateLimits, Source},
    principal::{Principal, Role},
};
use credgate_load::{Caller, Closed, Ending, Link, Nodes, Question, closed};
use credgate_support::deployment::Deployment;
use futures::{StreamExt as _, stream};

use crate::load::{self, BOUND, beside};

/// What docs/rate.md promises for 100,000 sources.
const CEILING: u64 = 8 << 20;

pub fn run() {
    sources();
    println!();
    load::run(nodes());
}

/// G7: memory has a ceiling, and nobody's state is pushed out by others.
fn sources() {
    let limit = |per_second: u32, burst: u32| Limit {
        per_second: per_second.try_into().unwrap(),
        burst: burst.try_into().unwrap(),
    };
    let rate = Rate::new(RateLimits { source: Some(limit(1, 5)), ..RateLimits::default() }, 1);
    let somebody = Principal { index: 0, role: Role::Registrar };
    let ask = |address: IpAddr| rate.admit(Source::from(address), somebody).is_ok();
    let greedy = IpAddr::from([192, 0, 2, 1]);
    let spent = (0..100).filter(|_| ask(greedy)).count();
    println!("| sources so far | memory | per call |\n|---|---|---|");
    let (before, mut so_far) = (resident(), 0_u32);
    println!("| 1 | {} KB | |", before >> 10);
    let mut most = 0;
    for upto in [50_000, 100_000, 500_000, 1_000_000, 5_000_000] {
        let began = Instant::now();
        let count = upto - so_far;
        for number in so_far..upto {
            let address: IpAddr = match number % 2 {
                0 => Ipv4Addr::from(0x0a00_0000 + number / 2).into(),
                _ => Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(number) << 64).into(),
            };
            ask(address);
        }
        so_far = upto;
        most = resident().saturating_sub(before);
        println!("| {upto} | +{} KB | {} ns |", most >> 10, began.elapsed().as_nanos() / u128::from(count));
    }
    let again = (0..100).filter(|_| ask(greedy)).count();
    let began = Instant::now();
    rate.tidy();
    println!(
        "\nTidying takes {:?}. The greedy source got {spent} of 100 before and {again} of 100 after.",
        began.elapsed()
    );
    assert!(most < CEILING, "{} MB for sources, more than the ceiling", most >> 20);
    // A token a second comes back meanwhile.
    assert!(spent <= 6 && again <= 10, "a source that had used up its share got {again} more");
}

/// A million node IDs that are not there, and addresses of 127/8, at a gateway with every limit on.
async fn nodes() {
    let deployment = Deployment::mtls().with_nodes(10).merge(
        "[rate]\nglobal = { per_second = 1000000 }\nidentity = { per_second = 1000000 }\nsource = { per_second = 1000000 }",
    );
    let gateway = deployment.start();
    let caller = Caller::of(&deployment, gateway.lookup, &deployment.registrar);
    let ids: Vec<String> = (10_000_000..11_000_000).map(|id| id.to_string()).collect();
    let nodes = Arc::new(Nodes::some(ids.iter().map(|id| (id.as_str(), None))));
    let ask = |calls: u64| {
        let (caller, nodes) = (caller.clone(), Arc::clone(&nodes));
        let plan = Closed { connections: 8, outstanding: 128, calls, duration: Duration::from_secs(120) };
        beside(async move { closed(&caller, &nodes, plan).await.unwrap() })
    };
    assert_eq!(ask(10_000).ended().await.right(), 10_000);
    let before = gateway.usage();
    let report = ask(1_000_000).ended().await;
    let after = gateway.usage();
    println!(
        "1,000,000 lookups of a million node IDs: {:.0} a second, memory {} KB before, {} KB after.",
        report.calls() as f64 / report.elapsed.as_secs_f64(),
        before.memory >> 10,
        after.memory >> 10
    );
    assert_eq!(report.right(), 1_000_000, "{report:?}");
    assert!(after.memory < before.memory + (8 << 20), "memory grows with node IDs: {before:?}, {after:?}");

    let began = Instant::now();
    let right = beside(async move {
        let nobody = Question::new("1", None);
        let visits = stream::iter(2..2002_u16).map(|number| {
            let [high, low] = number.to_be_bytes();
            let (caller, nobody) = (caller.clone().from([127, 1, high, low]), &nobody);
            async move { Link::open(&caller).await.unwrap().ask(nobody).await == Ending::Right }
        });
        visits.buffer_unordered(32).filter(|right| std::future::ready(*right)).count().await
    })
    .ended()
    .await;
    let kept = gateway.usage();
    println!(
        "2,000 clients from addresses of their own in 127/8, in {:.1} s: memory {} KB, {} descriptors as before.",
        began.elapsed().as_secs_f64(),
        kept.memory >> 10,
        kept.descriptors
    );
    assert_eq!(right, 2000);
    let gone = |page: &credgate_support::metrics::Metrics| page.sum("credgate_connections", &[]) == 0.0;
    credgate_support::metrics::wait_for(gateway.metrics.unwrap(), gone, BOUND).await;
}

/// Of this process, in bytes (proc(5)).
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
