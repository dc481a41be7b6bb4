//! Printing that survives its reader: std's macros panic when standard output is a pipe that nobody reads any more, and
//! what a command did, and its exit code, do not depend on whether somebody looked.

/// A line on standard output.
macro_rules! out {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// A line on standard error.
macro_rules! err {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

pub(crate) use {err, out};
