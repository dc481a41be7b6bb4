//! Runs the checks one after the other, and lets none of them hang or take the suite down.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use tokio::time::timeout;

use crate::{
    Ending, Finding, Subject, Verdict,
    bench::{Bench, CANARY, Stop},
    checks::{CHECKS, Check},
};

/// Judges a provider by every check.
pub async fn judge(subject: &dyn Subject) -> Verdict {
    let bench = Bench::new(subject);
    let mut findings = Vec::new();
    for check in CHECKS {
        let ending = run(check, &bench).await;
        bench.clear().await;
        findings.push(Finding { check: check.name, ending });
    }
    findings.push(Finding { check: QUIET, ending: quiet(&bench) });
    Verdict { subject: subject.name(), findings }
}

/// Judges a provider and panics with the whole table unless every check passed or was not applicable.
#[expect(clippy::panic, reason = "it is the assertion of a test")]
pub async fn assert_conforms(subject: &dyn Subject) {
    let verdict = judge(subject).await;
    if !verdict.failed().is_empty() {
        panic!("{verdict}");
    }
}

/// Longer than any check needs, so that only a hanging provider or store meets it.
const LONGEST: Duration = Duration::from_secs(60);

const QUIET: &str = "no error, refusal or summary shows a password";

async fn run(check: &Check, bench: &Bench<'_>) -> Ending {
    match timeout(LONGEST, AssertUnwindSafe((check.run)(bench)).catch_unwind()).await {
        Err(_) => Ending::Failed(format!("hung for {LONGEST:?}")),
        Ok(Err(_)) => Ending::Failed("panicked".into()),
        Ok(Ok(Ok(()))) => Ending::Passed,
        Ok(Ok(Err(Stop::Refused))) => Ending::Refused,
        Ok(Ok(Err(Stop::NotApplicable(reason)))) => Ending::NotApplicable(reason),
        Ok(Ok(Err(Stop::Failed(seen)))) => Ending::Failed(seen),
    }
}

/// Every password of the suite that can be told from other text holds the canary.
fn quiet(bench: &Bench<'_>) -> Ending {
    let said = bench.said();
    match said.iter().find(|text| text.contains(CANARY)) {
        Some(text) => Ending::Failed(format!("one of {} texts does: {text}", said.len())),
        None => Ending::Passed,
    }
}
