//! `credgate-probe await`: reads every target again until its unit serves, or never will. Facts end it, never a clock.
//!
//! ```text
//! arguments ─▶ claim held? ─▶ register ─▶ rounds, all targets at once ─▶ claim released ─▶ exit code
//!                                 └─────── signals: the record goes, 128 + number ──────────┘
//! ```

mod arguments;
mod claim;
pub mod register;
mod rounds;
mod signals;

use std::{ffi::OsString, process::ExitCode};

use futures::future::join_all;
use tokio::runtime;

use crate::{answer, facts::Host, misuse, misused, say};
use arguments::{Arguments, Pair};
use claim::Claim;
use register::Record;
use rounds::{Memory, Wait};
use signals::Signals;

/// The whole command; `words` begin with `await`.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let given = match arguments::parse(words) {
        Ok(given) => given,
        Err(error) => return misused(&error),
    };
    let pairs = match given.pairs() {
        Ok(pairs) => pairs,
        Err(sentence) => return misuse(&sentence),
    };
    let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return say::failed(&format!("credgate-probe: the system gives no runtime: {error}")),
    };
    let exit = runtime.block_on(registered(&given.arguments, &pairs));
    // A resolver that hangs in its thread is left behind.
    runtime.shutdown_background();
    exit
}

/// The wait, on the register for as long as it lasts.
async fn registered(arguments: &Arguments, pairs: &[Pair]) -> ExitCode {
    let host = say::host();
    let refuse = |sentence: String| say::failed(&format!("{host}: {sentence}"));
    let mut signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => return refuse(format!("cannot handle signals: {error}")),
    };
    let names: Vec<&str> = pairs.iter().map(|pair| pair.word.as_str()).collect();
    let claim = match arguments.claim.as_deref().map(|path| Claim::held(path, &names)).transpose() {
        Ok(claim) => claim,
        Err(error) => return refuse(error.to_string()),
    };
    let record = match Record::enter(&arguments.runtime_dir, pairs.iter().map(ToString::to_string)).await {
        Ok(record) => record,
        Err(error) => return refuse(error.to_string()),
    };
    let ended = tokio::select! {
        ended = serving_and_released(arguments, pairs, claim, &host) => ended.map_err(refuse),
        (name, number) = signals.next() => {
            say::complain(&format!("{host}: {name}: the wait is given up"));
            Err(ExitCode::from(128 + number))
        }
    };
    drop(record);
    ended.err().unwrap_or(ExitCode::SUCCESS)
}

async fn serving_and_released(
    arguments: &Arguments,
    pairs: &[Pair],
    claim: Option<Claim>,
    host: &str,
) -> Result<(), String> {
    serving(arguments, pairs, host).await?;
    let Some(claim) = claim else { return Ok(()) };
    let path = claim.path().display().to_string();
    let tell = |line: &str| say::fact(host, line);
    claim.release(tell).await.map_err(|error| format!("all targets serve, but a claim is not released: {error}"))?;
    say::fact(host, format_args!("{path}: released"));
    Ok(())
}

/// Ends when every target has; of several refusals the first in the given order is the one that counts.
async fn serving(arguments: &Arguments, pairs: &[Pair], host: &str) -> Result<(), String> {
    let ended = join_all(pairs.iter().map(|pair| async move {
        let wait = Wait {
            unit: pair.unit.to_string(),
            target: &pair.target,
            facts: Host::new(pair.unit.clone(), arguments.sockets),
            read: async || answer::read(&pair.target, arguments.timeout()).await,
            tell: |line| say::fact(host, line),
            interval: arguments.interval,
            memory: Memory::default(),
        };
        let ended = wait.until_served().await;
        if let (Err(sentence), true) = (&ended, pairs.len() > 1) {
            // The others go on; nobody should have to wait for them to hear of it.
            say::fact(host, sentence);
        }
        ended
    }));
    ended.await.into_iter().collect()
}
