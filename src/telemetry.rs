//! What the gateway shows of itself: log lines, metrics, and the private listener that serves them.
//!
//! No node ID, peer, identity or credential is ever a label, and no secret is ever a field; node IDs stand in audit lines
//! alone.

mod listener;
mod log;
mod metrics;

pub use listener::{Pages, serve};
pub use log::{Delivery, Format, LogSettings, OutcomeLog, Repeats, init, tell_all_held_back, tell_held_back};
pub use metrics::{Counted, DoorHandles, Metrics, Provided, sum_up};
