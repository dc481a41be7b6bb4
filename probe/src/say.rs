//! One line per fact: whatever a file name, an argument or a program's output holds, it stays one line.

use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

/// Tells a fact on stdout. A reader that went away changes nothing.
pub fn fact(host: &str, fact: impl Display) {
    let _ = writeln!(io::stdout(), "{}", plain(&format!("{host}: {fact}")));
}

/// The last word of a run that failed, on stderr.
pub fn failed(line: &str) -> ExitCode {
    complain(line);
    ExitCode::FAILURE
}

/// A line on stderr.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

/// Control characters are written as escapes.
pub fn plain(line: &str) -> String {
    line.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// The name of this host, as every line of `await` and `check-source` begins.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
