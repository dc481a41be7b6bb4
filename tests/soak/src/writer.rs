//! 100,000 lookups while another process writes to the SQLite file: no wrong answer.
//!
//! The writer changes the password of a node back and forth between two values and disables and enables another, in
//! transactions of their own, as fast as it can. A lookup must find one of the two passwords, the other node or nothing,
//! and every node that is not written to exactly as it is.

use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, spawn},
    time::{Duration, Instant},
};

use credgate_support::{deployment::Deployment, grpc::Client, process::Gateway};
use futures::{StreamExt as _, stream};

use crate::deployments::{Store, deployment};

const NODES: usize = 40_000;
const LOOKUPS: usize = 100_000;
const OUTSTANDING: usize = 16;

/// The nodes that are written to, and what else the first one's password may be.
const CHANGED: &str = "2000";
const OTHER_PASSWORD: &str = "the-other-password";
const SWITCHED: &str = "2001";

pub fn run() {
    let (deployment, _) = deployment(Store::Sqlite, NODES);
    let gateway = deployment.start();
    let mut writer = Writer::start(&deployment);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    let (mut found, mut absent) = runtime.block_on(look_up(&deployment, &gateway));
    let time = began.elapsed();
    let written = writer.stop(&deployment);
    found.sort_unstable();
    absent.sort_unstable();
    let slowest = found.iter().chain(&absent).max().unwrap();
    println!("{LOOKUPS} lookups in {:.1} s beside {written} transactions: no wrong answer;", time.as_secs_f64());
    println!(
        "{} found, {} disabled at that moment; p50 {:?}, p99 {:?}, slowest {slowest:?}",
        found.len(),
        absent.len(),
        found[found.len() / 2],
        found[found.len() * 99 / 100],
    );
}

async fn look_up(deployment: &Deployment, gateway: &Gateway) -> (Vec<Duration>, Vec<Duration>) {
    let client = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
    let nodes: Vec<_> = deployment.nodes.iter().collect();
    // Every fourth lookup is of a node that is being written to.
    let written_to = [CHANGED, SWITCHED].map(|node| (node, deployment.nodes.password(node)));
    let asked =
        (0..LOOKUPS).map(|index| if index % 4 == 0 { written_to[index / 4 % 2] } else { nodes[index * 7919 % NODES] });
    let answers = stream::iter(asked)
        .map(|(node, password)| {
            let client = &client;
            async move {
                let began = Instant::now();
                let answer = client.lookup(node).await;
                let right = match &answer {
                    Ok(found) => found == password || (node == CHANGED && found == OTHER_PASSWORD),
                    Err(ending) => node == SWITCHED && ending == "NOT_FOUND NODE_NOT_FOUND",
                };
                assert!(right, "node {node}: {answer:?}");
                (answer.is_ok(), began.elapsed())
            }
        })
        .buffer_unordered(OUTSTANDING)
        .collect::<Vec<_>>()
        .await;
    let (found, absent): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(found, _)| *found);
    let times = |answers: Vec<(bool, Duration)>| answers.into_iter().map(|(_, time)| time).collect();
    (times(found), times(absent))
}

/// Waits for locks, and counts its transactions.
const FIRST: &str = ".timeout 10000\nCREATE TABLE rounds (count INTEGER); INSERT INTO rounds VALUES (0);\n";

/// Another process, `sqlite3`, fed with statements until it is told to stop.
struct Writer {
    process: Child,
    feeder: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Writer {
    fn start(deployment: &Deployment) -> Self {
        let mut process = Command::new("sqlite3")
            .arg(deployment.path("nodes.db"))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("sqlite3: {error}; apt-get install sqlite3"));
        let mut input = process.stdin.take().unwrap();
        let password = deployment.nodes.password(CHANGED).replace('\'', "''");
        let turns = [(OTHER_PASSWORD, 0), (&password, 1)].map(|(password, enabled)| {
            format!(
                "BEGIN; UPDATE credgate_nodes SET password = '{password}' WHERE node_id = '{CHANGED}'; \
                 UPDATE credgate_nodes SET enabled = {enabled} WHERE node_id = '{SWITCHED}'; \
                 UPDATE rounds SET count = count + 1; COMMIT;\n"
            )
        });
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let feeder = spawn(move || {
            input.write_all(FIRST.as_bytes()).unwrap();
            while !stopped.load(Ordering::Relaxed) {
                turns.iter().for_each(|turn| input.write_all(turn.as_bytes()).unwrap());
            }
        });
        Self { process, feeder: Some(feeder), stop }
    }

    /// Ends it and says how many transactions it committed.
    fn stop(&mut self, deployment: &Deployment) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.feeder.take().unwrap().join().unwrap();
        assert!(self.process.wait().unwrap().success(), "the writer failed");
        let count = Command::new("sqlite3")
            .args([deployment.path("nodes.db").to_str().unwrap(), "SELECT count FROM rounds"])
            .output()
            .unwrap();
        String::from_utf8(count.stdout).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Writer {
    /// Nothing is left running when a lookup was wrong.
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}
