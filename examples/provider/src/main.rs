//! A gateway with one kind of provider more: `folder`.

use std::process::ExitCode;

fn main() -> ExitCode {
    credgate::run(vec![Box::new(credgate_example_provider::FolderKind)])
}
