//! Every worker stuck, in four ways: how long probes and refusals take for 30 s, and how the process ends.

use std::time::{Duration, Instant};

use credgate_support::{deployment::Deployment, grpc::Client, plugins::STUCK};
use futures::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use super::{BOUND, block_on, ending, quantile, registrar, slots_in_use};

const WORKERS: usize = 16;
const WATCHED: Duration = Duration::from_secs(30);

pub fn run() {
    println!("{WORKERS} workers, all stuck; probes and lookups every 10 ms for {} s.\n", WATCHED.as_secs());
    println!(
        "| stuck in | probe p50 | p99 | refusal p50 | p99 | SIGTERM to exit | code |\n|---|---|---|---|---|---|---|"
    );
    for node in STUCK {
        let deployment = Deployment::mtls()
            .with_behaviours(false)
            .set("lookup.timeout", "500ms")
            .set("lookup.queue", 0)
            .set("health.stuck_after", "1h")
            .set("provider.python.workers", i64::try_from(WORKERS).unwrap());
        let gateway = deployment.start();
        block_on(async {
            let client = registrar(&deployment, &gateway).await;
            // A lookup whose thread got no turn before its deadline has never begun, and is asked again.
            while slots_in_use(&gateway).await < WORKERS as f64 {
                join_all((0..WORKERS).map(|_| ending(&client, node))).await;
            }
            let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
            let (mut probes, mut refusals) = tokio::join!(
                times(async || assert!(probe.check("liveness").await.is_ok())),
                times(async || {
                    // Where the store is known to be lost that is said instead.
                    let ended = ending(&client, "returns_str").await;
                    assert!(ended == "RESOURCE_EXHAUSTED AT_CAPACITY" || ended.starts_with("UNAVAILABLE"), "{ended}");
                }),
            );
            gateway.terminate();
            let exit = gateway.ended(BOUND).await;
            println!(
                "| {node} | {:?} | {:?} | {:?} | {:?} | {:.2} s | {:?} |",
                quantile(&mut probes, 0.5),
                quantile(&mut probes, 0.99),
                quantile(&mut refusals, 0.5),
                quantile(&mut refusals, 0.99),
                exit.after.as_secs_f64(),
                exit.code.unwrap()
            );
            assert_eq!(exit.code, Some(75));
        });
    }
}

async fn times(mut call: impl AsyncFnMut()) -> Vec<Duration> {
    let mut ticks = interval(Duration::from_millis(10));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (begin, mut times) = (Instant::now(), Vec::new());
    while begin.elapsed() < WATCHED {
        ticks.tick().await;
        let began = Instant::now();
        call().await;
        times.push(began.elapsed());
    }
    times
}
