//! credgate: the credential-lookup gateway of a SIP/IAX-style network.

use std::process::ExitCode;

use credgate_provider::Kind;

/// The program: reads the command line, with the given kinds of provider beside those that are built in.
pub fn run(_kinds: Vec<Box<dyn Kind>>) -> ExitCode {
    ExitCode::FAILURE
}
