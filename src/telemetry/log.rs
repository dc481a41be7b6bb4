//! Log lines: one per event, on standard error, as text or JSON.
//!
//! The libraries below us are held at WARN whatever is configured: at finer levels h2 and others print header values,
//! which are tokens. Panics are logged by place only, since their text can hold anything.

mod audit;
mod outcomes;
mod repeats;

pub use audit::Delivery;
pub use outcomes::OutcomeLog;
pub use repeats::{Repeats, tell_all_held_back, tell_held_back};

use std::{io::IsTerminal as _, panic};

use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt};

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object per line, fields at its top.
    Json,
}

/// The `[log]` settings.
#[derive(Clone, Copy, Debug)]
pub struct LogSettings {
    /// How.
    pub format: Format,
    /// From which level on.
    pub level: LevelFilter,
    /// Whether each delivered credential has a line, with its node ID.
    pub audit: bool,
}

/// Our own crates, and providers by convention: only these follow `log.level`.
const OWN: &str = "credgate";

/// Only for a person at a terminal who has not asked for none (no-color.org).
fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Starts logging. Called once.
pub fn init(settings: LogSettings) {
    let filter = EnvFilter::default()
        .add_directive(LevelFilter::WARN.into())
        // It warns of every connection that a peer abuses, at the peer's pace; ours are counted and held back.
        .add_directive("h2=error".parse().unwrap_or_else(|_| LevelFilter::ERROR.into()))
        .add_directive(format!("{OWN}={}", settings.level).parse().unwrap_or_else(|_| LevelFilter::INFO.into()));
    // Whoever wants the audit lines wants them at every level.
    let filter = match format!("{}=info", audit::TARGET).parse() {
        Ok(directive) if settings.audit => filter.add_directive(directive),
        _ => filter,
    };
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours());
    // The library would print its own trouble with standard error to standard error, and panic when that is closed.
    let builder = builder.log_internal_errors(false);
    let started = match settings.format {
        Format::Text => builder.try_init(),
        Format::Json => builder.with_ansi(false).json().flatten_event(true).try_init(),
    };
    // A second start in one process (tests) keeps the first.
    drop(started);
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
        tracing::error!(location, thread, "panic");
    }));
}
