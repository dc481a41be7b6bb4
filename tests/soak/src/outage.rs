//! Probes and lookups at the worst moment: every slot taken, the processor busy, the store failing in the middle.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::Gateway,
    scripted::{Behaviour, CheckBehaviour},
};
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{interval, sleep},
};

use crate::load::{self, BOUND, Busy, ms, percentile};

const CALLERS: usize = 64;
const SLOTS: u32 = 16;

/// H4: two minutes.
const PROBES: usize = 120;

pub fn run() {
    load::run(async {
        let _busy = Busy::begin();
        slow_provider().await;
        println!();
        failing_store().await;
    });
}

/// Lookups that keep all slots, from callers that come again at once.
fn callers(client: &Client, times: &Arc<Mutex<Vec<(Instant, Duration)>>>) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (client, times) = (client.clone(), Arc::clone(times));
        callers.spawn(async move {
            loop {
                let began = Instant::now();
                let _ = client.lookup("1999").await;
                times.lock().unwrap().push((began, began.elapsed()));
            }
        });
    }
    callers
}

/// Runs `credgate-probe liveness` once a second, with a second of time; how many succeeded, and how long each took.
async fn probe_liveness(deployment: &Deployment, gateway: &Gateway, count: usize) -> (usize, Vec<Duration>) {
    let (mut ticks, mut good, mut times) = (interval(Duration::from_secs(1)), 0, Vec::new());
    for _ in 0..count {
        ticks.tick().await;
        let mut command = deployment.probe_command("liveness", gateway.control, &deployment.probe);
        command.args(["--timeout", "1s"]);
        let (output, time) = spawn_blocking(move || {
            let began = Instant::now();
            (command.output().unwrap(), began.elapsed())
        })
        .await
        .unwrap();
        match output.status.success() {
            true => good += 1,
            false => println!("a probe failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()),
        }
        times.push(time);
    }
    (good, times)
}

async fn slow_provider() {
    let deployment = Deployment::mtls().with_scripted(SLOTS);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::None.worked(10_000)).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let mut callers = callers(&client, &Arc::default());
    script.wait_for(|counts| counts.running == usize::try_from(SLOTS).unwrap(), BOUND).await;
    let (good, mut times) = probe_liveness(&deployment, &gateway, PROBES).await;
    callers.abort_all();
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    println!("Slots taken by work of 10 s, all cores busy, liveness probed every second with 1 s of time:\n");
    println!("| probes | SERVING | p50 | p99 |\n|---|---|---|---|");
    println!("| {PROBES} | {good} | {} | {} |", ms(p50), ms(p99));
    assert_eq!(good, PROBES);
}

async fn failing_store() {
    let deployment = Deployment::mtls().with_scripted(SLOTS);
    let (gateway, script) = deployment.start_scripted().await;
    let works = Behaviour::None.worked(20);
    script.node("1999", works.clone()).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    let times = Arc::default();
    let mut callers = callers(&client, &times);
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut readiness = probe.watch("readiness").await.unwrap();
    readiness.until(ServingStatus::Serving, BOUND).await;
    println!(
        "The store fails for 20 s of 60 (check every 5 s, {CALLERS} callers for {SLOTS} slots, all cores busy):\n"
    );
    println!("| store | liveness SERVING | lookups | p50 | p99 | readiness |\n|---|---|---|---|---|---|");
    let row = |state: &str, good: usize, began: Instant, word: String| {
        let ended = Instant::now();
        let all: Vec<(Instant, Duration)> = times.lock().unwrap().clone();
        let mut some: Vec<_> =
            all.into_iter().filter(|(at, _)| (began..ended).contains(at)).map(|(_, time)| time).collect();
        let (p50, p99) = (percentile(&mut some, 50), percentile(&mut some, 99));
        println!("| {state} | {good} of 18 | {} | {} | {} | {word} |", some.len(), ms(p50), ms(p99));
        assert_eq!(good, 18);
    };

    let began = Instant::now();
    sleep(Duration::from_secs(2)).await;
    row("answers", probe_liveness(&deployment, &gateway, 18).await.0, began, "SERVING".into());
    let began = Instant::now();
    script.node("1999", Behaviour::Unavailable.worked(20)).await;
    script.check(CheckBehaviour::Fail).await;
    readiness.until(ServingStatus::NotServing, BOUND).await;
    let fell = began.elapsed();
    row("fails", probe_liveness(&deployment, &gateway, 18).await.0, began, format!("fell after {}", ms(fell)));
    let began = Instant::now();
    script.node("1999", works).await;
    script.check(CheckBehaviour::Ok).await;
    readiness.until(ServingStatus::Serving, BOUND).await;
    let back = began.elapsed();
    row("answers again", probe_liveness(&deployment, &gateway, 18).await.0, began, format!("back after {}", ms(back)));
    callers.abort_all();
    // interval + timeout of health, by default.
    assert!(fell < Duration::from_secs(7) && back < Duration::from_secs(7), "{fell:?}, {back:?}");
}
