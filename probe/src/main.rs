//! `credgate-probe`: one question to a gateway's health service, one word or one line as the answer.
//!
//! Exit code 0 means SERVING, 1 means anything else, a usage error included: an orchestrator that counts failures must
//! not take a typing error for a third state. It prints `SERVING` on stdout, or exactly one line on stderr that names
//! the step that failed. It starts no thread unless a host name must be resolved.

mod ask;
mod cli;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

fn main() -> ExitCode {
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => return said(error.print()),
        Err(error) => return failed(&format!("credgate-probe: usage: {}", cli::sentence(&error))),
    };
    match ask::ask(&arguments) {
        Ok(()) => said(writeln!(io::stdout(), "SERVING")),
        Err(failure) => failed(&format!("{} of {}: {failure}", arguments.name.as_str(), arguments.gateway.addr)),
    }
}

/// The answer is the exit code; a reader that went away does not change it.
fn said(_: io::Result<()>) -> ExitCode {
    ExitCode::SUCCESS
}

/// One line, whatever a file name or an argument holds.
fn failed(line: &str) -> ExitCode {
    let plain: String =
        line.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
    let _ = writeln!(io::stderr(), "{plain}");
    ExitCode::FAILURE
}
