//! Provider: credentials from a Python module of the operator's own, run by an embedded interpreter.
//!
//! The interpreter's lock is something that can be held for ever by code that is not ours. So one rule orders this
//! crate: no thread of the lookup runtime ever attaches to Python. It hands work over and waits for a plain answer.
//!
//! ```text
//! lookup ─▶ Queue ─▶ N worker threads ───────▶ lookup(node_id)        def
//!              └──▶ one event-loop thread ───▶ await lookup(node_id)  async def
//! check ──▶ Queue ─▶ the check thread ───────▶ check()
//! logger credgate.plugin ─▶ bounded queue ─▶ log thread ─▶ tracing
//! ```
//!
//! Whatever Python objects come back are judged in the Python thread and leave it as a [`credgate_provider::Password`]
//! or a short sentence. The slot of a lookup travels with its work and is dropped when the Python call has ended.
//!
//! Reading order: [`PythonKind`], `settings`, `interpreter` (with `ffi`), `plugin`, `provider`, then `workers`,
//! `event_loop`, `check`, and what they share: `work`, `answer`, `fault`, `records`.

mod answer;
mod check;
mod event_loop;
mod fault;
mod ffi;
mod interpreter;
mod kind;
mod plugin;
mod provider;
mod queue;
mod records;
mod settings;
mod signals;
mod values;
mod venv;
mod work;
mod workers;

pub use kind::PythonKind;

/// Ends the process with this exit code if an interpreter was started, running no exit handlers: those of the libraries
/// a plugin has loaded could take away what its threads still use. Returns if none was.
pub fn leave(code: u8) {
    if interpreter::is_started() {
        use std::io::Write as _;
        // Nobody is left to tell.
        let _ = std::io::stdout().flush();
        ffi::exit(code);
    }
}
