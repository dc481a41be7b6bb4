//! The gateway with one more kind of provider, as a third party would build it.

use std::process::ExitCode;

fn main() -> ExitCode {
    credgate::run(Vec::new())
}
