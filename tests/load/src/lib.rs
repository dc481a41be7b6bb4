//! Load for a gateway: lookups of random nodes with every answer verified, and attacks, all over real TLS.
//!
//! ```text
//! Nodes (CSV) ─┐
//! Caller ──────┼─▶ closed (N outstanding) │ open (fixed rate) │ arrivals (new connections) ─▶ Report
//! (TLS, token) └─▶ attack (one kind, bounded in connections and time) ─▶ Tally
//! Deployment ────▶ probes (of the control listener, fixed rate) ─▶ Report
//! ```
//!
//! Reading order: [`Caller`], [`Nodes`], [`closed`] and [`open`], the private `link` below them, [`Report`]; then
//! [`attack`]. The executable `credgate-load` is this from the command line; `tests/soak` uses it as a library.

mod arrivals;
pub mod attack;
mod caller;
mod closed;
mod line;
mod link;
mod nodes;
mod open;
mod pacer;
mod probes;
mod report;
mod tenths;

pub use arrivals::{Arrivals, arrivals};
pub use caller::Caller;
pub use closed::{Closed, closed};
pub use link::{Ending, Link};
pub use nodes::{Nodes, Question};
pub use open::{Open, open, open_spinning};
pub use pacer::Pacer;
pub use probes::probes;
pub use report::Report;
