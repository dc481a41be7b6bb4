//! Calls that never return: the lookup ends at its deadline, the slot stays taken and is seen, whatever lies outside
//! Python goes on, and the process ends within its budget all the same.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    plugins::STUCK,
    process::{Gateway, Signal},
};
use futures::future::join_all;
use tokio::time::timeout;
use tonic_health::pb::health_check_response::ServingStatus;

use crate::ground::{BOUND, becomes, ending, number, registrar};

const WORKERS: usize = 3;
const TIMED_OUT: &str = "UNAVAILABLE BACKEND_TIMEOUT";
const FULL: &str = "RESOURCE_EXHAUSTED AT_CAPACITY";

/// drain + close + 1 s, and what a machine that is busy with other tests adds.
const BUDGET: Duration = Duration::from_millis(300 + 300 + 1000);
const BUSY: Duration = Duration::from_secs(10);

fn deployment(is_async: bool) -> Deployment {
    Deployment::mtls()
        .with_behaviours(is_async)
        .set("lookup.timeout", "300ms")
        .set("provider.python.workers", i64::try_from(WORKERS).unwrap())
        .merge("[health]\ninterval = '200ms'\ntimeout = '2s'\nmax_age = '10s'")
        .merge("[shutdown]\ndrain_timeout = '300ms'\nclose_timeout = '300ms'")
}

/// As many as there are slots, each of which ends at its deadline; then every slot is seen to be held. A lookup whose
/// thread got no turn before its deadline has never begun and gave its slot back, so there may be more than one round.
async fn fill(gateway: &Gateway, client: &Client, node: &str) {
    for ended in join_all((0..WORKERS).map(|_| ending(client, node))).await {
        assert_eq!(ended, TIMED_OUT, "{node}");
    }
    let filled = async {
        while number(gateway, "credgate_slots_in_use").await < WORKERS as f64 {
            ending(client, node).await;
        }
    };
    assert!(timeout(BOUND, filled).await.is_ok(), "{node}: not every slot is held");
}

/// Health, metrics and refusals owe nothing to Python.
async fn outside_goes_on(deployment: &Deployment, gateway: &Gateway, client: &Client) {
    let probe = Client::open(deployment, gateway.control, &deployment.probe).await;
    for _ in 0..20 {
        assert_eq!(probe.check("liveness").await, Ok(ServingStatus::Serving));
        assert_eq!(probe.check("startup").await, Ok(ServingStatus::Serving));
    }
    // No slot comes free before the deadline.
    for ended in join_all((0..4).map(|_| ending(client, "returns_str"))).await {
        assert_eq!(ended, FULL);
    }
    assert_eq!(client.lookup("not a node").await.unwrap_err(), "INVALID_ARGUMENT INVALID_NODE_ID");
    becomes(gateway, "credgate_slots_in_use", WORKERS as f64).await;
}

async fn ends_within_its_budget(gateway: &Gateway, signal: Signal) {
    gateway.signal(signal);
    let exit = gateway.ended(BOUND).await;
    assert_eq!((exit.code, exit.signal), (Some(75), None), "{}", gateway.log.tail());
    assert!(exit.after < BUDGET + BUSY, "{exit:?}");
    let line = gateway.log.wait_for(|line| line.says("stopped with work unfinished"), BOUND);
    assert_eq!(line.number("work_running"), Some(WORKERS as f64), "{}", line.text);
}

#[tokio::test]
async fn threads_that_never_return_keep_their_slots_and_nothing_else() {
    for (node, signal) in STUCK.into_iter().zip([Signal::TERM, Signal::INT, Signal::TERM, Signal::INT]) {
        let deployment = deployment(false);
        let gateway = deployment.start();
        let client = registrar(&deployment, &gateway).await;
        fill(&gateway, &client, node).await;
        outside_goes_on(&deployment, &gateway, &client).await;
        ends_within_its_budget(&gateway, signal).await;
    }
}

#[tokio::test]
async fn one_stuck_thread_leaves_the_others_working() {
    // C code that keeps the interpreter's lock is the one that takes all of Python with it.
    for node in ["sleeps", "reads_socket", "spins"] {
        let deployment = deployment(false).set("lookup.timeout", "10s");
        let gateway = deployment.start();
        let client = registrar(&deployment, &gateway).await;
        let within = Duration::from_millis(300);
        assert_eq!(client.lookup_within(node, within).await.unwrap_err(), TIMED_OUT);
        for _ in 0..20 {
            assert_eq!(ending(&client, "returns_str").await, "OK", "beside {node}");
        }
        becomes(&gateway, "credgate_slots_in_use", 1.0).await;
    }
}

#[tokio::test]
async fn a_held_interpreter_lock_is_seen_by_the_check_and_by_readiness_alone() {
    let deployment = deployment(false).merge("[health]\ninterval = '100ms'\ntimeout = '200ms'\nmax_age = '400ms'");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut watch = probe.watch("readiness").await.unwrap();
    watch.until(ServingStatus::Serving, BOUND).await;
    assert_eq!(ending(&client, "holds_lock").await, TIMED_OUT);
    watch.until(ServingStatus::NotServing, BOUND).await;
    assert_eq!(probe.check("liveness").await, Ok(ServingStatus::Serving));
    assert_eq!(probe.check("startup").await, Ok(ServingStatus::Serving));
    // Lookups end at their deadline, or at once when the gateway has noticed the outage.
    let ended = ending(&client, "returns_str").await;
    assert!(ended.starts_with("UNAVAILABLE"), "{ended}");
}

#[tokio::test]
async fn readiness_falls_when_every_slot_is_stuck_and_a_restart_can_be_asked_for() {
    let deployment = deployment(false).set("health.stuck_after", "300ms");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    let mut watch = probe.watch("readiness").await.unwrap();
    watch.until(ServingStatus::Serving, BOUND).await;
    fill(&gateway, &client, "sleeps").await;
    watch.until(ServingStatus::NotServing, BOUND).await;
    assert_eq!(probe.check("liveness").await, Ok(ServingStatus::Serving));

    let deployment = deployment.set("health.exit_when_stuck", true);
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    join_all((0..WORKERS).map(|_| ending(&client, "sleeps"))).await;
    assert_eq!(gateway.ended(BOUND).await.code, Some(75), "{}", gateway.log.tail());
}

#[tokio::test]
async fn a_coroutine_that_blocks_the_loop_is_as_stuck_as_a_thread() {
    for node in ["sleeps", "spins", "holds_lock"] {
        let deployment = deployment(true);
        let gateway = deployment.start();
        let client = registrar(&deployment, &gateway).await;
        fill(&gateway, &client, node).await;
        outside_goes_on(&deployment, &gateway, &client).await;
        ends_within_its_budget(&gateway, Signal::TERM).await;
    }
}

#[tokio::test]
async fn a_coroutine_is_cancelled_at_the_deadline_and_its_slot_comes_back() {
    let deployment = deployment(true);
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for _ in 0..3 {
        for ended in join_all((0..WORKERS).map(|_| ending(&client, "waits"))).await {
            assert_eq!(ended, TIMED_OUT);
        }
        becomes(&gateway, "credgate_slots_in_use", 0.0).await;
        assert_eq!(ending(&client, "returns_str").await, "OK");
    }
    // One that clings to life is seen to.
    fill(&gateway, &client, "clings").await;
    outside_goes_on(&deployment, &gateway, &client).await;
    ends_within_its_budget(&gateway, Signal::TERM).await;
}
