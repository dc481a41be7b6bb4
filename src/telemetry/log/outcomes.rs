//! The endings of lookups, as log lines.

use credgate_client::code_name;
use credgate_provider::Detail;
use tracing::Level;

use super::Repeats;
use crate::outcome::{Outcome, Row};

/// Tells the endings of lookups, each kind at its own pace: outcome and detail together make the kind.
#[derive(Debug)]
pub struct OutcomeLog {
    repeats: [Repeats; Outcome::COUNT],
}

impl Default for OutcomeLog {
    fn default() -> Self {
        Self { repeats: Outcome::ALL.map(|outcome| Repeats::of(line(outcome.row()), cause(outcome.row()))) }
    }
}

impl OutcomeLog {
    /// One line for an ending, at the level of its row. What is worth only DEBUG is told each time to those who ask for it.
    pub fn tell(&self, outcome: Outcome, detail: Option<&Detail>) {
        let row = outcome.row();
        if row.level == Level::DEBUG {
            return tracing::debug!(code = code_name(row.code), reason = row.reason, "lookup ended");
        }
        let detail = detail.map(ToString::to_string);
        let Some(more) = self.repeats[outcome.index()].allow(detail.as_deref().unwrap_or_default()) else { return };
        let (code, reason) = (code_name(row.code), row.reason);
        match row.level {
            Level::ERROR => tracing::error!(code, reason, detail, more, "lookup failed"),
            Level::WARN => tracing::warn!(code, reason, detail, more, "lookup failed"),
            _ => tracing::info!(code, reason, detail, more, "lookup refused"),
        }
    }
}

/// The message of its line.
fn line(row: &Row) -> &'static str {
    if row.level == Level::INFO { "lookup refused" } else { "lookup failed" }
}

fn cause(row: &Row) -> &'static str {
    row.reason.unwrap_or(code_name(row.code))
}
