//! Log lines: one per event, on standard error, as text or JSON.
//!
//! The libraries below us are held at WARN whatever is configured: at finer levels h2 and others print header values,
//! which are tokens. Panics are logged by place only, since their text can hold anything.

use std::{
    panic,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::SystemTime,
};

use credgate_provider::Detail;
use tracing::Level;
use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt};

use crate::outcome::Outcome;

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
}

/// Our own crates, and providers by convention: only these follow `log.level`.
const OWN: &str = "credgate";

/// Starts logging. Called once.
pub fn init(settings: LogSettings) {
    let filter = EnvFilter::default()
        .add_directive(LevelFilter::WARN.into())
        // It warns of every connection that a peer abuses, at the peer's pace; ours are counted and held back.
        .add_directive("h2=error".parse().unwrap_or_else(|_| LevelFilter::ERROR.into()))
        .add_directive(format!("{OWN}={}", settings.level).parse().unwrap_or_else(|_| LevelFilter::INFO.into()));
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // The library would print its own trouble with standard error to standard error, and panic when that is closed.
    let builder = builder.log_internal_errors(false);
    let started = match settings.format {
        Format::Text => builder.try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    // A second start in one process (tests) keeps the first.
    drop(started);
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
        tracing::error!(location, thread, "panic");
    }));
}

/// Lets one line per second through and counts the rest, so that an outage does not fill the disk.
#[derive(Debug)]
pub struct Repeats {
    /// Second of the last line let through.
    last: AtomicI64,
    held_back: AtomicU64,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { last: AtomicI64::new(-1), held_back: AtomicU64::new(0) }
    }
}

impl Repeats {
    /// Whether this line may be written; if so, how many were held back since the last one.
    pub fn allow(&self) -> Option<u64> {
        let second = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let second = i64::try_from(second).unwrap_or(i64::MAX);
        if self.last.swap(second, Ordering::Relaxed) == second {
            self.held_back.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.held_back.swap(0, Ordering::Relaxed))
    }
}

/// Tells the endings of lookups, each kind at its own pace.
#[derive(Debug, Default)]
pub struct OutcomeLog {
    repeats: [Repeats; Outcome::COUNT],
}

impl OutcomeLog {
    /// One line for an ending, at the level of its row. What is worth only DEBUG is told each time to those who ask for it.
    pub fn tell(&self, outcome: Outcome, detail: Option<&Detail>) {
        let row = outcome.row();
        if row.level == Level::DEBUG {
            return tracing::debug!(code = ?row.code, reason = row.reason, "lookup ended");
        }
        let Some(more) = self.repeats[outcome.index()].allow() else { return };
        let detail = detail.map(tracing::field::display);
        let (code, reason) = (row.code, row.reason);
        match row.level {
            Level::ERROR => tracing::error!(?code, reason, detail, more, "lookup failed"),
            Level::WARN => tracing::warn!(?code, reason, detail, more, "lookup failed"),
            _ => tracing::info!(?code, reason, detail, more, "lookup refused"),
        }
    }
}
