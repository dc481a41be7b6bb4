//! The rooms of the corridor one by one: `scripts/bench rooms [FILTER]`.
//!
//! What a call costs in each, without a network: for comparing two builds, not for the table.

#![expect(clippy::unwrap_used, reason = "a measuring aid that stops where something is wrong")]

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::{Duration, SystemTime},
};

use credgate::{
    admission::{Capacity, Limit, Rate, RateLimits, Source},
    door::Peer,
    outcome::Outcome,
    principal::{Identities, Identity, Principal, Role, San},
};
use credgate_csv::{Dialect, Rules, Table};
use credgate_provider::{Deadline, NodeId, NodeIdRule, Report};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};

criterion_group!(rooms, authenticate, rate, capacity, outcome, csv);
criterion_main!(rooms);

/// As long as a token of `credgate token new`.
fn bearer(number: usize) -> String {
    format!("Bearer cg_{number:043}")
}

fn authenticate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("authenticate");
    let san = San::Dns("registrar".into());
    let now = SystemTime::now();
    let validity = Some((now - Duration::from_secs(60), now + Duration::from_secs(60)));
    let peer = Peer { address: ADDRESS, names: vec![san.clone()], validity };
    for count in [1, 16] {
        let identity = |number: usize| Identity {
            name: format!("registrar-{number}"),
            role: Role::Registrar,
            tokens: vec![Sha256::digest(&bearer(number)["Bearer ".len()..]).into()],
            sans: vec![san.clone()],
        };
        let identities = Identities::new((0..count).map(identity).collect(), true);
        for (token, number) in [("right", count - 1), ("wrong", count)] {
            let mut headers = HeaderMap::new();
            headers.insert("authorization", HeaderValue::from_str(&bearer(number)).unwrap());
            assert_eq!(identities.authenticate(&headers, &peer, now).is_ok(), token == "right");
            group.bench_function(format!("{token} token, {count} identities"), |bencher| {
                bencher.iter(|| identities.authenticate(black_box(&headers), &peer, now));
            });
        }
    }
}

fn rate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rate");
    let many = Limit { per_second: u32::MAX.try_into().unwrap(), burst: u32::MAX.try_into().unwrap() };
    let all = RateLimits { global: Some(many), identity: Some(many), source: Some(many), shadow: false };
    let (source, principal) = (Source::from(ADDRESS), Principal { index: 0, role: Role::Registrar });
    for (name, limits) in [("no limit", RateLimits::default()), ("three limits", all)] {
        let rate = Rate::new(limits, 16);
        rate.admit(source, principal).unwrap();
        group.bench_function(name, |bencher| bencher.iter(|| rate.admit(black_box(source), principal)));
    }
}

fn capacity(criterion: &mut Criterion) {
    let capacity = Capacity::new(1024, 1024);
    let deadline = Deadline::after(Duration::from_secs(3600));
    criterion.bench_function("capacity/slot taken and given back", |bencher| {
        bencher.iter(|| capacity.slot(black_box(deadline)).now_or_never().unwrap().unwrap());
    });
}

fn outcome(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("outcome");
    let limited = Outcome::RateLimited { retry_after: Duration::from_millis(250) };
    for (name, outcome) in
        [("unauthenticated", Outcome::Unauthenticated), ("not found", Outcome::NodeNotFound), ("rate limited", limited)]
    {
        group.bench_function(name, |bencher| bencher.iter(|| black_box(outcome).status()));
    }
}

fn csv(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("csv");
    for count in [100_000, 1_000_000] {
        let table = table(count);
        let node = |number: u64| NodeIdRule::default().parse(&(FIRST + number).to_string()).unwrap();
        // Steps that no cache foresees.
        let mut step = 0;
        let mut next = || {
            step = (step + 7_919_777) % count;
            step
        };
        assert!(table.find(&node(next())).unwrap().is_some() && table.find(&node(count)).unwrap().is_none());
        let find = |node: NodeId| table.find(&node).unwrap();
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("hit in {count}"), |bencher| {
            bencher.iter_batched(|| node(next()), find, BatchSize::LargeInput);
        });
        group.bench_function(format!("miss in {count}"), |bencher| {
            bencher.iter_batched(|| node(count + next()), find, BatchSize::LargeInput);
        });
    }
    group.sample_size(10).throughput(Throughput::Elements(1_000_000));
    let file = file(1_000_000);
    group.bench_function("load 1000000", |bencher| {
        bencher.iter_batched(|| file.clone(), |file| parse(file).len(), BatchSize::PerIteration);
    });
}

fn table(count: u64) -> Table {
    parse(file(count))
}

fn parse(file: Vec<u8>) -> Table {
    let report = Report::default();
    let table = Table::parse(file.into(), Path::new("nodes.csv"), &Dialect::default(), Rules::default(), &report);
    table.unwrap_or_else(|| unreachable!("{:?}", report.problems()))
}

fn file(count: u64) -> Vec<u8> {
    let rows = (0..count).map(|number| format!("{},password-{number:010}\n", FIRST + number));
    std::iter::once("node_id,password\n".to_owned()).chain(rows).collect::<String>().into_bytes()
}

const FIRST: u64 = 1_000_000_000;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
