//! `credgate-probe check-source`: what is about to be replaced must serve now. One read, and any other answer refuses.

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;
use futures::future::join_all;
use tokio::runtime;

use crate::{
    answer::{self, Meaning},
    misuse, misused, say,
    target::{Reads, Target},
};

/// Ask once whether what is about to be replaced serves
///
/// Every address is read once, all of them at once. Exit code 0: each answers SERVING (or HTTP 2xx); 1: the first that
/// does not is named on standard error.
#[derive(Debug, Parser)]
#[command(name = "credgate-probe check-source", bin_name = "credgate-probe check-source", disable_version_flag = true)]
struct Arguments {
    #[command(flatten)]
    reads: Reads,
}

/// The whole command; `words` begin with `check-source`.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return misused(&error),
    };
    let targets = match arguments.reads.targets() {
        Ok(targets) => targets,
        Err(sentence) => return misuse(&sentence),
    };
    let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return say::failed(&format!("credgate-probe: the system gives no runtime: {error}")),
    };
    let host = say::host();
    let ended = runtime.block_on(check(&arguments.reads, &targets, &host));
    runtime.shutdown_background();
    ended.map_or_else(|refusal| say::failed(&format!("{host}: {refusal}")), |()| ExitCode::SUCCESS)
}

async fn check(reads: &Reads, targets: &[Target], host: &str) -> Result<(), String> {
    let readings = join_all(targets.iter().map(|target| answer::read(target, reads.timeout))).await;
    for (target, reading) in targets.iter().zip(readings) {
        if reading.meaning != Meaning::Serving {
            return Err(format!("{target} {}", reading.words));
        }
        say::fact(host, format_args!("{target} {}", reading.words));
    }
    Ok(())
}
