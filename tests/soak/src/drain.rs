//! The drain with each state a client can be in: how long from SIGTERM to the exit, the exit code, what the client saw.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Exit, Gateway},
    rawh2::{Answer, Connection, Exchange, Request},
    scripted::{Behaviour, Script},
    wire::{self, closed_within, frames},
};
use tokio::{io::AsyncWriteExt, task::JoinSet, time::interval};

use crate::load::{self, BOUND, ms};

/// A gateway with the default budget (8 s).
struct Site {
    deployment: Deployment,
    gateway: Gateway,
    script: Script,
}

impl Site {
    async fn start(slots: u32) -> Self {
        let deployment = Deployment::mtls().with_scripted(slots).set("lookup.timeout", "60s");
        let (gateway, script) = deployment.start_scripted().await;
        Self { deployment, gateway, script }
    }

    async fn raw(&self) -> Connection {
        Connection::open(&self.deployment.target(self.gateway.lookup, &self.deployment.registrar)).await.unwrap()
    }

    fn lookup(&self) -> Request {
        Request::lookup("1999").token(&self.deployment.registrar.token)
    }

    /// Lookups of a node that behaves like this, on one connection.
    async fn begin(&self, behaviour: Behaviour, count: usize) -> (Connection, Vec<Exchange>) {
        self.script.node("1999", behaviour).await;
        let connection = self.raw().await;
        let mut exchanges = Vec::new();
        for _ in 0..count {
            exchanges.push(connection.begin(self.lookup()).await);
        }
        self.script.wait_for(|counts| counts.running > 0, BOUND).await;
        (connection, exchanges)
    }

    /// SIGTERM, and the end.
    async fn stop(&self) -> Exit {
        self.gateway.terminate();
        self.gateway.ended(BOUND).await
    }
}

pub fn run() {
    load::run(async {
        println!("| client | SIGTERM to exit | exit code | what the client saw |\n|---|---|---|---|");
        idle().await;
        watches().await;
        silent(false).await;
        silent(true).await;
        no_ping().await;
        half_sent().await;
        lookups("a lookup in flight for 1 s more", 16, 1, Behaviour::password("found").worked(1000), 0).await;
        lookups("a lookup longer than the budget", 16, 1, Behaviour::Hang, 75).await;
        second_signal().await;
        lookups("10 lookups queued for one slot", 1, 10, Behaviour::password("found").worked(200), 0).await;
        arriving().await;
    });
}

fn row(client: &str, exit: Exit, saw: &str, code: i32) {
    println!("| {client} | {} | {:?} | {saw} |", ms(exit.after), exit.code.unwrap_or(-1));
    assert_eq!((exit.code, exit.signal), (Some(code), None), "{client}");
    assert!(exit.after < Duration::from_secs(8), "{client}: {exit:?} is beyond the budget");
}

/// The gateway's own answer, or none.
fn told(answer: &Answer) -> String {
    if answer.http.is_some() { answer.ending() } else { "cut".to_owned() }
}

/// `3 × this, 2 × that`
fn counted(words: impl IntoIterator<Item = String>) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    counts.iter().map(|(word, count)| format!("{count} × {word}")).collect::<Vec<_>>().join(", ")
}

async fn idle() {
    let site = Site::start(16).await;
    let connection = site.raw().await;
    assert_eq!(connection.send(site.lookup(), BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    let exit = site.stop().await;
    row("an idle connection, kept alive", exit, &format!("closed: {:?}", connection.closed(BOUND).await), 0);
}

async fn watches() {
    let site = Site::start(16).await;
    let mut watches = Vec::new();
    for address in [site.gateway.lookup, site.gateway.control] {
        for _ in 0..5 {
            let client = Client::open(&site.deployment, address, &site.deployment.probe).await;
            let mut watch = client.watch("readiness").await.unwrap();
            watch.next(BOUND).await.unwrap();
            watches.push((client, watch));
        }
    }
    let exit = site.stop().await;
    let mut saw = Vec::new();
    for (_, mut watch) in watches {
        let (word, end) = (watch.next(BOUND).await, watch.next(BOUND).await);
        saw.push(match (word, end) {
            (Ok(Some(status)), Ok(None)) => format!("{status:?}, then OK"),
            other => format!("{other:?}"),
        });
    }
    row("an open Watch, 5 on each listener", exit, &counted(saw), 0);
}

async fn silent(tls: bool) {
    let site = Site::start(16).await;
    let mut open: Vec<Box<dyn wire::Stream>> = Vec::new();
    for address in [site.gateway.lookup, site.gateway.control] {
        for _ in 0..10 {
            let target = site.deployment.target(address, &site.deployment.registrar);
            match tls {
                true => open.push(target.connect().await.unwrap()),
                false => open.push(Box::new(target.connect_tcp().await.unwrap())),
            }
        }
    }
    let exit = site.stop().await;
    let mut saw = Vec::new();
    for stream in &mut open {
        let end = closed_within(stream, BOUND).await;
        saw.push(if end.error.is_some() { "reset" } else { "closed" }.to_owned());
    }
    let client = if tls { "TLS without a preface, 10 on each listener" } else { "silent TCP, 10 on each listener" };
    row(client, exit, &counted(saw), 0);
}

/// It reads nothing before the gateway has gone, so it answers no PING and hears no GOAWAY.
async fn no_ping() {
    let site = Site::start(16).await;
    let mut streams = Vec::new();
    for address in [site.gateway.lookup, site.gateway.control] {
        let target = site.deployment.target(address, &site.deployment.registrar);
        let mut stream = target.connect().await.unwrap();
        let bearer = site.deployment.registrar.token.bearer();
        let fields = frames::grpc_fields("/grpc.health.v1.Health/Watch", &bearer);
        let watch = [frames::hello(), frames::headers(1, &fields, false), frames::data(1, b"\0\0\0\0\0", true)];
        stream.write_all(&watch.concat()).await.unwrap();
        stream.flush().await.unwrap();
        streams.push(stream);
    }
    let exit = site.stop().await;
    let mut saw = Vec::new();
    for stream in &mut streams {
        let frames = frames::read(stream).await;
        let goaway = frames.iter().any(|frame| frame.kind == frames::GOAWAY);
        saw.push(if goaway { "GOAWAY, closed" } else { "closed" }.to_owned());
    }
    row("one that answers no PING, on each listener", exit, &counted(saw), 0);
}

async fn half_sent() {
    let site = Site::start(16).await;
    let connection = site.raw().await;
    let half = connection.begin(site.lookup().no_body().no_end()).await;
    // Answered on the same connection: the half request has arrived before.
    connection.send(site.lookup(), BOUND).await;
    let exit = site.stop().await;
    let answer = half.finish(BOUND).await;
    row("a half-sent request", exit, &told(&answer), 0);
}

async fn lookups(name: &str, slots: u32, count: usize, behaviour: Behaviour, code: i32) {
    let site = Site::start(slots).await;
    let (_connection, exchanges) = site.begin(behaviour, count).await;
    let exit = site.stop().await;
    let mut saw = Vec::new();
    for exchange in exchanges {
        let answer = exchange.finish(BOUND).await;
        saw.push(told(&answer));
    }
    assert!(code != 0 || saw.iter().all(|ending| ending == "OK"), "{name}: {saw:?}");
    row(name, exit, &counted(saw), code);
}

async fn arriving() {
    let site = Site::start(16).await;
    let client = Client::open(&site.deployment, site.gateway.lookup, &site.deployment.registrar).await;
    let endings = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&endings);
    let load = tokio::spawn(async move {
        let (mut ticks, mut calls) = (interval(Duration::from_millis(10)), JoinSet::new());
        loop {
            ticks.tick().await;
            let (client, told) = (client.clone(), Arc::clone(&told));
            calls.spawn(async move {
                let ending = client.lookup("2000").await.err().unwrap_or_else(|| "OK".to_owned());
                told.lock().unwrap().push(ending);
            });
        }
    });
    site.script.wait_for(|counts| counts.started > 50, BOUND).await;
    let exit = site.stop().await;
    load.abort();
    // What comes after the end is the client's own word for a connection that has gone.
    let saw = counted(endings.lock().unwrap().iter().cloned());
    row("lookups arriving, 100 a second", exit, &saw, 0);
}

async fn second_signal() {
    let site = Site::start(16).await;
    let (_connection, mut exchanges) = site.begin(Behaviour::Hang, 1).await;
    site.gateway.terminate();
    let draining = |line: &credgate_support::process::Line| line.field("phase") == Some("draining");
    site.gateway.log.seen(0, draining, BOUND).await;
    let exit = site.stop().await;
    let answer = exchanges.remove(0).finish(BOUND).await;
    row("the same, and a second SIGTERM", exit, &told(&answer), 75);
}
