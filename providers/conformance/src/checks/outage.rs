//! A backend out of reach: told as such, in time, and over when it is over.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    Disturbance, Row,
    bench::{Bench, PATIENT, SHORT, Stop, TICK},
};

/// How long after the end of an outage a provider may go on failing: pools wait between attempts.
const RECOVERY: Duration = Duration::from_secs(10);

pub(super) async fn healthy(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&rows()).await?;
    trial.check(PATIENT).await?.map_err(|_| Stop::failed("it failed"))
}

pub(super) async fn refusing(bench: &Bench<'_>) -> Result<(), Stop> {
    outage(bench, Disturbance::Refusing).await
}

pub(super) async fn silent(bench: &Bench<'_>) -> Result<(), Stop> {
    outage(bench, Disturbance::Silent).await
}

pub(super) async fn check_refusing(bench: &Bench<'_>) -> Result<(), Stop> {
    check(bench, Disturbance::Refusing).await
}

pub(super) async fn check_silent(bench: &Bench<'_>) -> Result<(), Stop> {
    check(bench, Disturbance::Silent).await
}

pub(super) async fn recovery(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&rows()).await?;
    let mut tried = Err(Stop::NotApplicable("it cannot be disturbed".into()));
    for how in [Disturbance::Refusing, Disturbance::Silent] {
        match trial.disturb(how).await {
            Ok(()) => tried = Ok(()),
            Err(stop) => {
                tried = tried.or(Err(stop));
                continue;
            }
        }
        for _ in 0..3 {
            trial.expect_outage("2000").await?;
        }
        trial.store.heal().await;
        let end = Instant::now() + RECOVERY;
        while trial.ask("2000", PATIENT).await?.is_err() || trial.check(PATIENT).await?.is_err() {
            if Instant::now() > end {
                return Err(Stop::Failed(format!("it still fails {RECOVERY:?} after {how:?} has ended")));
            }
            sleep(TICK).await;
        }
        trial.expect_password("2000", "canary").await?;
        trial.expect_none("2001").await?;
    }
    tried
}

fn rows() -> [Row; 1] {
    [Row::new("2000", "canary")]
}

/// Known and unknown nodes alike, both those asked before and the first of their kind.
async fn outage(bench: &Bench<'_>, how: Disturbance) -> Result<(), Stop> {
    let trial = bench.open(&rows()).await?;
    trial.expect_password("2000", "canary").await?;
    trial.expect_none("2001").await?;
    trial.disturb(how).await?;
    for node in ["2000", "2001", "2002"] {
        trial.expect_outage(node).await?;
    }
    Ok(())
}

async fn check(bench: &Bench<'_>, how: Disturbance) -> Result<(), Stop> {
    let trial = bench.open(&rows()).await?;
    trial.disturb(how).await?;
    match trial.check(SHORT).await? {
        Ok(()) => Err(Stop::failed("it was Ok")),
        Err(_) => Ok(()),
    }
}
