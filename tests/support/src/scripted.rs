//! A provider that does what a test tells it while it runs, and the test's end of the line.
//!
//! ```no_run
//! # use credgate_support::{deployment::Deployment, scripted::Behaviour};
//! # use std::time::Duration;
//! # async fn example() {
//! let deployment = Deployment::mtls().with_scripted(4);
//! let (gateway, script) = deployment.start_scripted().await;
//! script.node("2000", Behaviour::password("secret")).await;
//! script.default(Behaviour::Hold).await;                     // keeps its slot until it is released
//! script.wait_for(|counts| counts.held == 4, Duration::from_secs(5)).await;
//! script.release_all().await;
//! # drop(gateway);
//! # }
//! ```
//!
//! The provider is written as a third party would write it: it uses `credgate-provider` and nothing else of ours, and
//! the executable `credgate-scripted` hands it to `credgate::run`. In the configuration:
//!
//! ```toml
//! [provider]
//! kind = "scripted"
//! [provider.scripted]
//! control = "127.0.0.1:0"          # where the script is sent; logged as a `listening` line of listener "scripted"
//! slots = 16                       # the most lookups at once
//! nodes = { 2000 = "secret" }      # nodes it knows from the start
//! open = "ok"                      # ok | unavailable | configuration | panic | hang
//! open_delay = "0s"                # before that
//! script = ['{"op":"check","behaviour":{"do":"fail"}}']      # requests obeyed before it opens
//! ```
//!
//! Over the line, each request is one JSON object on one line, answered by the counts or by `{"error":"…"}`.

mod behaviour;
mod control;
mod kind;
mod provider;
mod script;
mod state;

pub use behaviour::{Behaviour, CheckBehaviour, CloseBehaviour, Request};
pub use kind::ScriptedKind;
pub use script::Script;
pub use state::Counts;

#[cfg(test)]
mod tests;
