//! `[log]`: format, level, and whether deliveries are told.

use credgate_provider::settings::Section;
use tracing_subscriber::filter::LevelFilter;

use crate::telemetry::{Format, LogSettings};

pub fn read(section: &Section<'_>) -> LogSettings {
    let format = section.choice("format", &[("text", Format::Text), ("json", Format::Json)]);
    let level = section.choice(
        "level",
        &[
            ("info", LevelFilter::INFO),
            ("error", LevelFilter::ERROR),
            ("warn", LevelFilter::WARN),
            ("debug", LevelFilter::DEBUG),
            ("trace", LevelFilter::TRACE),
        ],
    );
    let audit = section.or("audit", false);
    section.finish();
    LogSettings { format: format.unwrap_or(Format::Text), level: level.unwrap_or(LevelFilter::INFO), audit }
}
