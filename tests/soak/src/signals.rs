//! 200 SIGTERMs at random moments of start and of load: a documented exit code each time, never a hang or a panic.

use std::{collections::BTreeMap, time::Duration};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Exit, Gateway, Process},
    scripted::{Behaviour, Script},
};
use tokio::{task::JoinSet, time::sleep};

use crate::load::{self, BOUND, ms, random};

const ROUNDS: usize = 100;

/// Count and slowest exit of each ending.
type Endings = BTreeMap<(&'static str, String), (usize, Duration)>;

pub fn run() {
    load::run(async {
        let mut endings = Endings::new();
        for round in 0..ROUNDS {
            starting(&mut endings).await;
            loaded(round, &mut endings).await;
        }
        println!("| SIGTERM | ended with | times | slowest exit |\n|---|---|---|---|");
        for ((moment, ending), (count, slowest)) in endings {
            println!("| {moment} | {ending} | {count} | {} |", ms(slowest));
        }
    });
}

/// Within the first 150 ms: before the handlers stand, while it opens, when it is ready.
async fn starting(endings: &mut Endings) {
    let deployment = Deployment::mtls().with_scripted(8).set("provider.scripted.open_delay", "50ms");
    let process = deployment.spawn_scripted();
    sleep(random(Duration::from_millis(150))).await;
    process.terminate();
    let exit = process.ended(BOUND).await;
    judge("while it starts", &process, exit, endings);
}

/// Lookups of every length under way, some of them abandoned; in every fourth round a second signal.
async fn loaded(round: usize, endings: &mut Endings) {
    let deployment = Deployment::mtls()
        .with_scripted(8)
        .set("lookup.timeout", "200ms")
        .merge("[shutdown]\ndrain_timeout = \"250ms\"\nclose_timeout = \"250ms\"");
    let (gateway, script): (Gateway, Script) = deployment.start_scripted().await;
    // In every other round, work that outlives its caller: exit code 75.
    let longest = if round.is_multiple_of(2) { 400 } else { 100 };
    for (node, ms) in [("1990", 1), ("1991", 50), ("1992", 150), ("1993", longest)] {
        script.node(node, Behaviour::None.worked(ms)).await;
    }
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let client = client.clone();
        callers.spawn(async move {
            for turn in 0.. {
                let node = ["2000", "1990", "1991", "1992", "1993"][(caller + turn) % 5];
                if client
                    .lookup_within(node, Duration::from_millis(300))
                    .await
                    .is_err_and(|ending| ending == "CANCELLED")
                {
                    sleep(Duration::from_millis(5)).await;
                }
            }
        });
    }
    sleep(random(Duration::from_millis(200))).await;
    gateway.terminate();
    if round % 4 == 3 {
        sleep(random(Duration::from_millis(50))).await;
        gateway.terminate();
    }
    let exit = gateway.ended(BOUND).await;
    callers.abort_all();
    judge(if round % 4 == 3 { "under load, twice" } else { "under load" }, &gateway, exit, endings);
}

fn judge(moment: &'static str, process: &Process, exit: Exit, endings: &mut Endings) {
    let log = process.log.whole(BOUND);
    assert!(!log.contains("panic"), "{log}");
    let ending = match (exit.code, exit.signal) {
        (Some(code @ (0 | 75)), None) => code.to_string(),
        // The system's own way with a process that has no handlers yet.
        (None, Some(15)) if log.is_empty() => "signal 15: no handlers yet".to_owned(),
        _ => panic!("{moment}: {exit:?}\n{log}"),
    };
    let (count, slowest) = endings.entry((moment, ending)).or_default();
    *count += 1;
    *slowest = exit.after.max(*slowest);
}
