//! The `credgate` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    credgate::run(Vec::new())
}
