//! What the gateway shows of itself: log lines, metrics, and the private listener that serves them.
//!
//! No node ID, peer, identity or credential is ever a label, and no secret is ever a field.

mod listener;
mod log;
mod metrics;

pub use listener::{Pages, serve};
pub use log::{Format, LogSettings, OutcomeLog, Repeats, init};
pub use metrics::{Counted, DoorHandles, Metrics, Provided};
