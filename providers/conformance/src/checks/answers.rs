//! Right rows: each node has its password, and no node is taken for another.

use futures::future::try_join_all;

use crate::{
    Row,
    bench::{Bench, PATIENT, Stop},
    trial::describe,
};

pub(super) async fn exact(bench: &Bench<'_>) -> Result<(), Stop> {
    let longest = "canary-".repeat(12)[..79].to_owned();
    // Blanks, quotes, what looks like a number, a truth or an absence, and what other formats take for magic.
    let passwords = [
        "canary",
        "canary ",
        " canary",
        "can ary",
        "canary,\"'`;",
        "#canary\\n%00$1",
        "\"canary\"",
        "=canary{}<&>",
        "0042",
        "1e3",
        "7.0",
        "true",
        "NULL",
        "None",
        "~",
        &longest,
    ];
    let rows: Vec<Row> =
        passwords.iter().zip(2000..).map(|(password, node)| Row::new(&format!("{node}"), password)).collect();
    let trial = bench.open(&rows).await?;
    for (row, password) in rows.iter().zip(passwords) {
        trial.expect_password(&row.node_id, password).await?;
    }
    Ok(())
}

pub(super) async fn unknown(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench.open(&[Row::new("2000", "canary"), Row::new("20011", "canary")]).await?;
    for node in ["2001", "200", "20000", "0", "9999999999", "NULL", "node_id"] {
        trial.expect_none(node).await?;
    }
    Ok(())
}

pub(super) async fn disabled(bench: &Bench<'_>) -> Result<(), Stop> {
    let rows = [Row::new("2000", "canary-0").with_enabled(Some("false")), Row::new("2001", "canary-1")];
    let trial = bench.open(&rows).await?;
    trial.expect_none("2000").await?;
    trial.expect_password("2001", "canary-1").await
}

pub(super) async fn zeros(bench: &Bench<'_>) -> Result<(), Stop> {
    let both = bench.open(&[Row::new("0200", "canary-0200"), Row::new("200", "canary-200")]).await?;
    both.expect_password("0200", "canary-0200").await?;
    both.expect_password("200", "canary-200").await?;
    both.expect_none("00200").await?;
    bench.open(&[Row::new("200", "canary")]).await?.expect_none("0200").await?;
    bench.open(&[Row::new("0200", "canary")]).await?.expect_none("200").await
}

pub(super) async fn case(bench: &Bench<'_>) -> Result<(), Stop> {
    let one = bench.open(&[Row::new("Alice", "canary-A")]).await?;
    one.expect_password("Alice", "canary-A").await?;
    one.expect_none("alice").await?;
    one.expect_none("ALICE").await?;
    let both = bench.open(&[Row::new("Alice", "canary-A"), Row::new("alice", "canary-a")]).await?;
    both.expect_password("Alice", "canary-A").await?;
    both.expect_password("alice", "canary-a").await
}

pub(super) async fn padding(bench: &Bench<'_>) -> Result<(), Stop> {
    let rows = [Row::new("2000 ", "canary-0"), Row::new(" 2001", "canary-1"), Row::new("2002", "canary-2")];
    let trial = bench.make(&rows).await?;
    trial.expect_none("2000").await?;
    trial.expect_none("2001").await?;
    trial.expect_password("2002", "canary-2").await
}

pub(super) async fn patterns(bench: &Bench<'_>) -> Result<(), Stop> {
    let trial = bench
        .open(&[Row::new("abc", "canary-abc"), Row::new("10", "canary-10"), Row::new("x_z", "canary-x_z")])
        .await?;
    for node in ["a_c", "a.c", "ab.", "a.+", "1e1", "10.0", "+10", "xyz", "..", "-"] {
        trial.expect_none(node).await?;
    }
    trial.expect_password("x_z", "canary-x_z").await
}

pub(super) async fn words(bench: &Bench<'_>) -> Result<(), Stop> {
    let yes = ["true", "True", "TRUE", "yes", "Yes", "1"];
    let no = ["false", "False", "FALSE", "no", "NO", "0"];
    let row = |(word, node): (&&str, i32)| Row::new(&node.to_string(), "canary").with_enabled(Some(word));
    let rows: Vec<Row> = yes.iter().chain(&no).zip(2000..).map(row).collect();
    let trial = bench.open(&rows).await?;
    for (position, row) in rows.iter().enumerate() {
        match position < yes.len() {
            true => trial.expect_password(&row.node_id, "canary").await?,
            false => trial.expect_none(&row.node_id).await?,
        }
    }
    Ok(())
}

pub(super) async fn many(bench: &Bench<'_>) -> Result<(), Stop> {
    let rows: Vec<Row> =
        (0..500).map(|number| Row::new(&(3000 + number).to_string(), &format!("canary-{number}"))).collect();
    let trial = bench.open(&rows).await?;
    for round in 0..4_u64 {
        // 64 of 1000 nodes, half of them unknown, in an order of no pattern (a linear congruence, so it can be repeated).
        let lookups = (0..64).map(|turn: u64| {
            let number = ((round * 64 + turn).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round) >> 33) % 1000;
            let trial = &trial;
            async move {
                let node = (3000 + number).to_string();
                let wanted = (number < 500).then(|| format!("canary-{number}"));
                match trial.ask(&node, PATIENT).await? {
                    Ok(found) if found.as_ref().map(|found| found.expose()) == wanted.as_deref() => Ok(()),
                    answer => Err(Stop::Failed(format!("{node}: a wrong answer: {}", describe(&answer)))),
                }
            }
        });
        try_join_all(lookups).await?;
    }
    Ok(())
}
