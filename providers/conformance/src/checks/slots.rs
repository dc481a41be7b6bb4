//! The slot follows the work, not the caller; and checks need none.

use std::{sync::Arc, time::Duration};

use credgate_provider::Deadline;
use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Disturbance, Row,
    bench::{Bench, GRACE, PATIENT, SHORT, Stop, TICK},
    trial::{SlotWatch, Trial, node_id, watched},
};

/// How long work may go on once nothing holds it up: a connection is closed, a thread wakes.
const WIND_DOWN: Duration = Duration::from_secs(5);

pub(super) async fn comes_back(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    for node in ["2000", "2001"] {
        let node = node_id(node)?;
        let (slot, mut watch) = watched();
        let lookup = trial.store.provider().lookup(&node, Deadline::after(PATIENT), slot);
        trial.answer(lookup, PATIENT).await?.map_err(|_| Stop::failed("the lookup failed"))?;
        watch.expect_back(GRACE).await?;
    }
    Ok(())
}

pub(super) async fn callers_leave(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    let node = node_id("2000")?;
    let mut watches = Vec::new();
    for turn in 0..64 {
        let (slot, watch) = watched();
        let lookup = trial.store.provider().lookup(&node, Deadline::after(PATIENT), slot);
        // The first leaves before its lookup has begun, the last when most have ended.
        if turn > 0 {
            let _ = timeout(Duration::from_micros(turn * 50), lookup).await;
        }
        watches.push(watch);
    }
    for mut watch in watches {
        watch.expect_back(WIND_DOWN).await?;
    }
    trial.expect_password("2000", "canary").await
}

pub(super) async fn held(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = stuck(bench).await?;
    let node = node_id("2000")?;
    let (slot, watch) = watched();
    let mut lookup = trial.store.provider().lookup(&node, Deadline::after(PATIENT), slot);
    trial.wait_in(&mut lookup).await?;
    // A lookup that is just ending may have dropped its slot a moment before it answers.
    if !watch.is_held() && timeout(SHORT, &mut lookup).await.is_err() {
        return Err(Stop::failed("the slot was given back while the lookup went on"));
    }
    Ok(())
}

pub(super) async fn caller_left(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = stuck(bench).await?;
    let node = node_id("2000")?;
    let (slot, watch) = watched();
    let mut lookup = trial.store.provider().lookup(&node, Deadline::after(SHORT), slot);
    trial.wait_in(&mut lookup).await?;
    drop(lookup);
    follows_the_work(&trial, watch).await
}

pub(super) async fn past_deadline(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = stuck(bench).await?;
    let node = node_id("2000")?;
    let (slot, watch) = watched();
    let lookup = trial.store.provider().lookup(&node, Deadline::after(SHORT), slot);
    let answer = trial.answer(lookup, SHORT).await?;
    if answer.is_ok() {
        return Err(Stop::failed("a lookup that cannot be answered was"));
    }
    follows_the_work(&trial, watch).await
}

pub(super) async fn check_passes(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    trial.disturb(Disturbance::Busy).await?;
    let node = node_id("2000")?;
    // As many as can run at once, within what a test may start.
    let lookups = (0..trial.store.slots().min(256)).map(|_| {
        let (slot, _watch) = watched();
        trial.store.provider().lookup(&node, Deadline::after(PATIENT), slot)
    });
    let mut lookups = Box::pin(join_all(lookups));
    if timeout(SHORT, &mut lookups).await.is_ok() {
        return Err(Stop::NotApplicable("its lookups do not wait".into()));
    }
    let checked = trial.check(SHORT).await?;
    trial.store.heal().await;
    let _ = timeout(PATIENT, lookups).await;
    checked.map_err(|_| Stop::failed("it failed or timed out while lookups waited"))
}

/// A store on which lookups wait: busy if it can be, else silent.
async fn stuck(bench: &Bench<'_>) -> Result<Arc<Trial>, Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    if trial.disturb(Disturbance::Busy).await.is_err() {
        trial.disturb(Disturbance::Silent).await?;
    }
    Ok(trial)
}

/// While the backend works the slot is held, as far as that can be seen; once it no longer does the slot comes back.
async fn follows_the_work(trial: &Trial, mut watch: SlotWatch) -> Result<(), Stop> {
    let end = Instant::now() + SHORT;
    while Instant::now() < end {
        let before = trial.store.running().await;
        let held = watch.is_held();
        let after = trial.store.running().await;
        // Only work that is seen on both sides of the glance was under way during it.
        if !held && before.is_some_and(|count| count > 0) && after.is_some_and(|count| count > 0) {
            return Err(Stop::failed("the slot was given back while the backend was still working"));
        }
        sleep(TICK).await;
    }
    trial.store.heal().await;
    watch.expect_back(WIND_DOWN).await
}
