//! The signals that end the gateway, and making sure that they still do after a plugin had its way.
//!
//! Python refuses `signal.signal` outside its main thread, which runs no plugin. A library in C asks nobody: what it puts
//! in the place of a handler is noticed after the import and at every check, and undone.

use std::ffi::c_int;

use crate::ffi::Disposition;

/// How the signals stood before the interpreter was started.
pub(crate) struct Signals([(c_int, &'static str, Option<Disposition>); 3]);

impl Signals {
    pub(crate) fn now() -> Self {
        let signals = [(libc::SIGTERM, "SIGTERM"), (libc::SIGINT, "SIGINT"), (libc::SIGHUP, "SIGHUP")];
        Self(signals.map(|(signal, name)| (signal, name, Disposition::now(signal))))
    }

    /// Puts back what has changed since, and says so.
    pub(crate) fn verify(&self) {
        for (signal, name, before) in &self.0 {
            let Some(before) = before else { continue };
            if Disposition::now(*signal).is_some_and(|now| !now.is(before)) {
                before.restore(*signal);
                tracing::warn!(signal = name, "the plugin or a library of it had taken this signal; it is ours again");
            }
        }
    }
}
