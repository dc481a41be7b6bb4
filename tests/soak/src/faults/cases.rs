//! Cases that are no outage: callers that leave, too much to do, statements that never end, replicas that start at once, a
//! restart long ago.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use credgate_support::{
    database::{Database, Kind},
    grpc::Client,
    metrics::scrape,
    process::Gateway,
};
use futures::future::join_all;
use tokio::{
    runtime::Runtime,
    task::{JoinSet, block_in_place},
    time::{interval, sleep, timeout},
};

use super::{
    ground::{CONNECTIONS, FAULT, GIVEN_UP, Ground, held},
    is_wanted, name,
};
use crate::load::{ms, percentile, random};

/// Name of a case, and what it comes to.
type Case = (&'static str, fn(&Runtime, Kind) -> String);

const CASES: [Case; 5] = [
    ("10,000 lookups cancelled in flight, then 65 s idle", |runtime, kind| runtime.block_on(cancelled(kind))),
    ("a query of 500 ms, 64 connections, 200 lookups a second for 30 s", |runtime, kind| runtime.block_on(slow(kind))),
    ("three replicas at once, 16 connections each, the server takes 20", |runtime, kind| {
        runtime.block_on(replicas(kind))
    }),
    ("50 lookups by 1 s of a query of 30 s", |runtime, kind| runtime.block_on(endless(kind))),
    ("a restart, 60 s without a lookup, then one", |runtime, kind| runtime.block_on(long_ago(kind))),
];

pub fn run(runtime: &Runtime, kind: Kind) {
    for (case, come_to) in CASES.into_iter().filter(|(case, _)| is_wanted(name(kind), case)) {
        println!("| {} | {case} | {} |", name(kind), come_to(runtime, kind));
    }
}

/// B9.
async fn cancelled(kind: Kind) -> String {
    let ground = Ground::new(kind);
    let gateway = ground.deployment.start();
    let open = || Client::open(&ground.deployment, gateway.lookup, &ground.deployment.registrar);
    let (mut left, mut before) = (0, None);
    while left < 10_000 {
        if left > 1000 && before.is_none() {
            // By now there are as many as such callers make it open.
            before = Some(block_in_place(|| held(&[&ground.database]).0));
        }
        // A connection that resets more streams than the limits allow is closed.
        let client = open().await;
        for _ in 0..20 {
            let calls =
                join_all((0..5).map(|_| timeout(random(Duration::from_millis(2)), client.lookup("2000")))).await;
            left += calls.iter().filter(|call| call.is_err()).count();
        }
    }
    let client = open().await;
    assert_eq!(client.lookup("2000").await.as_deref(), Ok(ground.deployment.nodes.password("2000")));
    sleep(GIVEN_UP).await;
    let (connections, statements) = block_in_place(|| held(&[&ground.database]));
    let (in_use, slots) = in_use(&gateway).await;
    sleep(Duration::from_secs(65)).await;
    let began = Instant::now();
    assert_eq!(client.lookup("2000").await.as_deref(), Ok(ground.deployment.nodes.password("2000")));
    format!(
        "{left} cancelled; then OK; {} connections more than before, {statements} statements, {in_use} connections and \
         {slots} slots in use; OK after {} when idle",
        connections.saturating_sub(before.unwrap_or_default()),
        ms(began.elapsed()),
    )
}

async fn in_use(gateway: &Gateway) -> (f64, f64) {
    let page = scrape(gateway.metrics.unwrap()).await;
    let value = |name| page.value(name, &[]).unwrap_or(f64::NAN);
    (value("credgate_sql_connections_in_use"), value("credgate_slots_in_use"))
}

/// Node 2000 takes `seconds`, every other one none.
fn nap(kind: Kind, seconds: &str) -> String {
    match kind {
        Kind::Postgres => format!(
            "SELECT node_id, password FROM credgate_nodes WHERE node_id = $1 \
             AND (node_id <> '2000' OR (SELECT true FROM pg_sleep({seconds} + 0 * length(node_id))))"
        ),
        Kind::MariaDb => format!(
            "SELECT node_id, password FROM credgate_nodes WHERE node_id = ? \
             AND (node_id <> '2000' OR sleep({seconds}) IS NOT NULL)"
        ),
    }
}

/// B10.
async fn slow(kind: Kind) -> String {
    let setting = if kind == Kind::Postgres { "max_connections=100" } else { "max-connections=100" };
    let mut ground = Ground::on(Database::start_with(kind, &[setting]));
    ground.deployment.config.set("provider.sql.query", nap(kind, "0.5"));
    ground.deployment.config.set("provider.sql.max_connections", 64);
    ground.deployment.config.set("lookup.queue", 64);
    let gateway = ground.deployment.start();
    let client = Client::open(&ground.deployment, gateway.lookup, &ground.deployment.registrar).await;
    let mut calls = JoinSet::new();
    let mut ticks = interval(Duration::from_millis(5));
    let mut longest: f64 = 0.0;
    for index in 0..6000 {
        ticks.tick().await;
        let client = client.clone();
        calls.spawn(async move {
            let began = Instant::now();
            (client.lookup("2000").await, began.elapsed())
        });
        if index % 200 == 0 {
            let page = scrape(gateway.metrics.unwrap()).await;
            longest = longest.max(page.value("credgate_queue", &[]).unwrap_or(f64::NAN));
        }
    }
    let mut endings: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for (answer, took) in calls.join_all().await {
        let ending = match answer {
            Ok(password) if password == ground.deployment.nodes.password("2000") => "OK".to_owned(),
            Ok(_) => "WRONG".to_owned(),
            Err(ending) => ending,
        };
        endings.entry(ending).or_default().push(took);
    }
    let shown: Vec<_> = endings
        .into_iter()
        .map(|(ending, mut times)| {
            let count = times.len();
            format!(
                "{count} {ending} (p50 {}, slowest {})",
                ms(percentile(&mut times, 50)),
                ms(percentile(&mut times, 100))
            )
        })
        .collect();
    format!("{}; queue {longest} at most, of 64", shown.join(", "))
}

/// B12.
async fn replicas(kind: Kind) -> String {
    let setting = if kind == Kind::Postgres { "max_connections=20" } else { "max-connections=20" };
    let ground = Ground::on(Database::start_with(kind, &[setting]));
    let began = Instant::now();
    let gateways: Vec<Gateway> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..3).map(|_| scope.spawn(|| ground.deployment.start())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let started = began.elapsed();
    let (began, own) = (Instant::now(), ground.deployment.nodes.password("2000"));
    let mut callers = JoinSet::new();
    for gateway in &gateways {
        let client = Client::open(&ground.deployment, gateway.lookup, &ground.deployment.registrar).await;
        (0..CONNECTIONS).for_each(|_| drop(callers.spawn(ask(client.clone(), own.to_owned(), began))));
    }
    let (mut right, mut others, mut last) = (0, BTreeMap::new(), Duration::ZERO);
    for (count, endings, first) in callers.join_all().await {
        right += count;
        endings.into_iter().for_each(|(ending, count)| *others.entry(ending).or_insert(0) += count);
        last = last.max(first.unwrap_or(Duration::MAX));
    }
    let others: Vec<_> = others.into_iter().map(|(ending, count)| format!("{count} {ending}")).collect();
    // Not before: the administrator may be refused as well.
    let connections = block_in_place(|| ground.database.connections());
    format!(
        "all three ready within {}; in {} s {right} OK, {}; every caller had an answer within {}; {connections} connections at the end",
        ms(started),
        FAULT.as_secs(),
        if others.is_empty() { "nothing else".to_owned() } else { others.join(", ") },
        ms(last),
    )
}

/// Asks for as long as a fault lasts: right answers, others, and how long after `began` the first right one came.
async fn ask(client: Client, own: String, began: Instant) -> (usize, BTreeMap<String, usize>, Option<Duration>) {
    let (mut right, mut others, mut first) = (0, BTreeMap::new(), None);
    while began.elapsed() < FAULT {
        match client.lookup("2000").await {
            Ok(password) => {
                assert_eq!(password, own);
                right += 1;
                first.get_or_insert(began.elapsed());
            }
            Err(ending) => *others.entry(ending).or_insert(0) += 1,
        }
        sleep(Duration::from_millis(5)).await;
    }
    (right, others, first)
}

/// B13.
async fn endless(kind: Kind) -> String {
    let mut ground = Ground::new(kind);
    ground.deployment.config.set("provider.sql.query", nap(kind, "30"));
    ground.deployment.config.set("lookup.timeout", "1s");
    let gateway = ground.deployment.start();
    let client = Client::open(&ground.deployment, gateway.lookup, &ground.deployment.registrar).await;
    let began = Instant::now();
    let answers = join_all((0..50).map(|_| client.lookup_within("2000", Duration::from_secs(1)))).await;
    let took = began.elapsed();
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.map_or_else(|ending| ending, |_| "OK".to_owned())).or_insert(0) += 1;
    }
    sleep(Duration::from_secs(3).saturating_sub(began.elapsed())).await;
    let statements = block_in_place(|| ground.database.statements());
    let began = Instant::now();
    assert_eq!(client.lookup("2001").await.as_deref(), Ok(ground.deployment.nodes.password("2001")));
    let counts: Vec<_> = counts.into_iter().map(|(ending, count)| format!("{count} {ending}")).collect();
    format!(
        "{} within {}; {statements} statements run after 3 s; another node OK after {}",
        counts.join(", "),
        ms(took),
        ms(began.elapsed()),
    )
}

/// B19.
async fn long_ago(kind: Kind) -> String {
    let ground = Ground::new(kind);
    let gateway = ground.deployment.start();
    let client = Client::open(&ground.deployment, gateway.lookup, &ground.deployment.registrar).await;
    join_all((0..CONNECTIONS * 4).map(|_| client.lookup("2000"))).await;
    block_in_place(|| ground.database.restart());
    sleep(Duration::from_secs(60)).await;
    let began = Instant::now();
    let answer = client.lookup("2000").await;
    let shown = if answer.as_deref() == Ok(ground.deployment.nodes.password("2000")) { "OK" } else { "not OK" };
    format!("{shown} after {}", ms(began.elapsed()))
}
