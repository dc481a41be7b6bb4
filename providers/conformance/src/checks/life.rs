//! Changes, deadlines and the end.

use std::time::Duration;

use credgate_provider::Number;

use crate::{
    Disturbance, Row,
    bench::{Bench, GRACE, PATIENT, Stop},
    trial::describe,
};

/// `shutdown.close_timeout`: 2 s by default.
const CLOSE: Duration = Duration::from_secs(2);

pub(super) async fn change(bench: &Bench<'_>) -> Result<(), Stop> {
    let off = |row: Row| row.with_enabled(Some("false"));
    let trial = bench
        .open(&[Row::new("2000", "canary-old"), Row::new("2001", "canary-1"), Row::new("2002", "canary-2")])
        .await?;
    for (node, password) in [("2000", "canary-old"), ("2001", "canary-1"), ("2002", "canary-2")] {
        trial.expect_password(node, password).await?;
    }
    trial.expect_none("2003").await?;
    let rows = [Row::new("2000", "canary-new"), off(Row::new("2001", "canary-1")), Row::new("2003", "canary-3")];
    trial.store.change(&rows).await?;
    trial.expect_password("2000", "canary-new").await?;
    trial.expect_none("2001").await?;
    trial.expect_none("2002").await?;
    trial.expect_password("2003", "canary-3").await
}

pub(super) async fn passed(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    use credgate_provider::ProviderError::{TimedOut, Unavailable};
    match trial.ask("2000", Duration::ZERO).await? {
        Ok(Some(found)) if found.expose() == "canary" => {}
        Err(TimedOut(_) | Unavailable(_)) => {}
        answer => return Err(Stop::Failed(format!("known: {}", describe(&answer)))),
    }
    match trial.ask("2001", Duration::ZERO).await? {
        Ok(None) | Err(TimedOut(_) | Unavailable(_)) => {}
        answer => return Err(Stop::Failed(format!("unknown: {}", describe(&answer)))),
    }
    trial.expect_password("2000", "canary").await
}

pub(super) async fn numbers(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    let numbers = trial.store.provider().numbers();
    if let Some(number) = numbers.iter().find(|number| !number.is_well_named()) {
        return Err(Stop::Failed(format!("{:?} cannot be the name of a metric", number.name)));
    }
    let names = |numbers: &[Number]| numbers.iter().map(|number| (number.name, number.counts)).collect::<Vec<_>>();
    trial.expect_password("2000", "canary").await?;
    match names(&trial.store.provider().numbers()) == names(&numbers) {
        true => Ok(()),
        false => Err(Stop::failed("after a lookup there are others")),
    }
}

pub(super) async fn close(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    trial.ask("2000", PATIENT).await?.map_err(|_| Stop::failed("the lookup before it failed"))?;
    trial.close(CLOSE + GRACE).await
}

pub(super) async fn close_silent(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary")]).await?;
    trial.disturb(Disturbance::Silent).await?;
    trial.expect_outage("2000").await?;
    trial.close(CLOSE + GRACE).await
}
