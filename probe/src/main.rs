//! `credgate-probe`: one question to a gateway's health service, one word or one line as the answer; and the waits that
//! end on facts.
//!
//! The finite modes: exit code 0 means SERVING, 1 means anything else, a usage error included: an orchestrator that
//! counts failures must not take a typing error for a third state. They print `SERVING` on stdout, or exactly one line
//! on stderr that names the step that failed, and start no thread unless a host name must be resolved.
//!
//! For whoever replaces a gateway: `check-source` ([`source`]), `await` ([`wait`]) and `waits` ([`wait::register`]).
//! Their facts come from [`facts`], their answers from [`answer`].

mod answer;
mod ask;
mod cli;
mod facts;
mod say;
mod source;
mod target;
mod wait;

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some("check-source") => source::run(words),
        Some("await") => wait::run(words),
        Some("waits") => wait::register::run(words),
        _ => once(),
    }
}

/// The finite modes.
fn once() -> ExitCode {
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misused(&error),
    };
    match ask::ask(&arguments) {
        Ok(()) => said(writeln!(io::stdout(), "SERVING")),
        Err(failure) => say::failed(&format!("{} of {}: {failure}", arguments.name.as_str(), arguments.gateway.addr)),
    }
}

/// What clap has to say: help on stdout, or a usage error in one line.
fn misused(error: &clap::Error) -> ExitCode {
    if error.use_stderr() { misuse(&cli::sentence(error)) } else { said(error.print()) }
}

fn misuse(sentence: &str) -> ExitCode {
    say::failed(&format!("credgate-probe: usage: {sentence}"))
}

/// The answer is the exit code; a reader that went away does not change it.
fn said(_: io::Result<()>) -> ExitCode {
    ExitCode::SUCCESS
}
