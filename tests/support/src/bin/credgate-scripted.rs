//! The gateway with one more kind of provider, as a third party's own `main` adds it.

use std::process::ExitCode;

use credgate_support::scripted::ScriptedKind;

fn main() -> ExitCode {
    credgate::run(vec![Box::new(ScriptedKind)])
}
