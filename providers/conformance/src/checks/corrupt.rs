//! Wrong rows: never a password, never `None`, and no harm to their neighbours.

use crate::{
    Row,
    bench::{Bench, CANARY, Stop},
};

pub(super) async fn empty(bench: &Bench<'_>) -> Result<(), Stop> {
    password(bench, Some(b"")).await
}

pub(super) async fn spaces(bench: &Bench<'_>) -> Result<(), Stop> {
    password(bench, Some(b" ")).await.or_else(if_possible)?;
    password(bench, Some(b"    ")).await
}

pub(super) async fn null(bench: &Bench<'_>) -> Result<(), Stop> {
    password(bench, None).await
}

pub(super) async fn long(bench: &Bench<'_>) -> Result<(), Stop> {
    let long = CANARY.repeat(14);
    password(bench, Some(&long.as_bytes()[..80])).await
}

pub(super) async fn control(bench: &Bench<'_>) -> Result<(), Stop> {
    for stored in [&b"canary\tcanary"[..], b"canary\n", b"\x1bcanary", b"canary\x7f"] {
        password(bench, Some(stored)).await.or_else(if_possible)?;
    }
    password(bench, Some(b"canary\r\n")).await
}

pub(super) async fn foreign(bench: &Bench<'_>) -> Result<(), Stop> {
    // Bytes that are no text at all are more than many stores can hold.
    password(bench, Some(b"canary\xff\xe9")).await.or_else(if_possible)?;
    password(bench, Some("canary\u{a0}".as_bytes())).await.or_else(if_possible)?;
    password(bench, Some("canaryé".as_bytes())).await
}

pub(super) async fn two_rows(bench: &Bench<'_>) -> Result<(), Stop> {
    broken(bench, &[Row::new("2000", "canary-0"), Row::new("2000", "canary-1")]).await
}

pub(super) async fn same_rows(bench: &Bench<'_>) -> Result<(), Stop> {
    broken(bench, &[Row::new("2000", "canary"), Row::new("2000", "canary")]).await
}

pub(super) async fn disabled_row(bench: &Bench<'_>) -> Result<(), Stop> {
    let (on, off) = (Row::new("2000", "canary-0"), Row::new("2000", "canary-1").with_enabled(Some("false")));
    broken(bench, &[on.clone(), off.clone()]).await.or_else(if_refused)?;
    broken(bench, &[off.clone(), on]).await.or_else(if_refused)?;
    broken(bench, &[off.clone(), off]).await
}

pub(super) async fn disabled_wins(bench: &Bench<'_>) -> Result<(), Stop> {
    let off = |node, stored| Row::new(node, CANARY).with_enabled(Some("false")).with_password(stored);
    let rows = [off("2000", Some(&b""[..])), off("2001", Some(b"  ")), off("2002", Some(&[b'x'; 300]))];
    let trial = bench.open(&rows).await?;
    for row in &rows {
        trial.expect_none(&row.node_id).await?;
    }
    match bench.open(&[off("2000", None)]).await {
        Ok(trial) => trial.expect_none("2000").await,
        Err(stop) => if_possible(stop),
    }
}

pub(super) async fn enabled_null(bench: &Bench<'_>) -> Result<(), Stop> {
    broken(bench, &[Row::new("2000", CANARY).with_enabled(None)]).await
}

pub(super) async fn enabled_odd(bench: &Bench<'_>) -> Result<(), Stop> {
    for word in ["maybe", "2", "-1", " true", "on", "enabled"] {
        broken(bench, &[Row::new("2000", CANARY).with_enabled(Some(word))]).await.or_else(if_refused)?;
    }
    broken(bench, &[Row::new("2000", CANARY).with_enabled(Some(""))]).await
}

async fn password(bench: &Bench<'_>, stored: Option<&[u8]>) -> Result<(), Stop> {
    broken(bench, &[Row::new("2000", CANARY).with_password(stored)]).await
}

/// Asks for node 2000 of these rows, and for a right one beside them.
async fn broken(bench: &Bench<'_>, rows: &[Row]) -> Result<(), Stop> {
    let rows = [rows, &[Row::new("2001", "canary-beside")]].concat();
    let trial = bench.make(&rows).await?;
    trial.expect_corrupt("2000").await?;
    trial.expect_password("2001", "canary-beside").await
}

/// Goes on when this part of a check was refused or impossible: the last part decides what the check ends in.
fn if_possible(stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::Refused | Stop::NotApplicable(_) => Ok(()),
        failed => Err(failed),
    }
}

/// Goes on when this part of a check was refused.
fn if_refused(stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::Refused => Ok(()),
        other => Err(other),
    }
}
