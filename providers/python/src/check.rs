//! The thread that loads the plugin and then runs its `check()`, so that a check waits behind no lookup.
//!
//! A check that hangs keeps the thread; the next ones are answered without it, as out of time, until it returns. Without
//! a `check()` of the plugin's own the check is whether Python, and the event loop where there is one, still answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use credgate_provider::{Deadline, OpenError, PasswordRule, ProviderError};
use pyo3::prelude::*;
use tokio::{sync::oneshot, time::timeout_at};

use crate::{interpreter::Interpreter, plugin::Plugin, queue::Queue, settings::Settings, workers::STACK};

/// The thread, as the provider knows it.
pub(crate) struct Checker {
    queue: Arc<Queue<Request>>,
    busy: Arc<AtomicBool>,
}

struct Request {
    deadline: Deadline,
    answer: oneshot::Sender<Result<(), ProviderError>>,
}

impl Checker {
    /// Starts the thread, which loads the plugin first.
    pub(crate) async fn start(
        interpreter: Arc<Interpreter>,
        settings: Settings,
        passwords: PasswordRule,
    ) -> Result<(Self, Arc<Plugin>), OpenError> {
        let checker = Self { queue: Arc::new(Queue::new(1)), busy: Arc::default() };
        let (queue, busy) = (Arc::clone(&checker.queue), Arc::clone(&checker.busy));
        let (ready, loaded) = oneshot::channel();
        let live = move || {
            let running = Arc::clone(&interpreter);
            Python::attach(|py| {
                let plugin = Plugin::load(py, interpreter, &settings, passwords).map(Arc::new);
                drop(settings);
                let serves = plugin.as_ref().ok().map(Arc::clone);
                py.detach(|| {
                    running.signals.verify();
                    // Nobody waits any more when the gateway has given the start up.
                    let _ = ready.send(plugin);
                });
                if let Some(plugin) = serves {
                    serve(py, &plugin, &queue, &busy);
                }
            });
        };
        thread::Builder::new()
            .name("python-check".into())
            .stack_size(STACK)
            .spawn(live)
            .map_err(|error| OpenError::Unavailable(format!("no thread for Python: {error}").into()))?;
        let plugin = loaded.await.map_err(|_| OpenError::Unavailable("loading ended without a word".into()))??;
        Ok((checker, plugin))
    }

    /// Runs one check.
    pub(crate) async fn check(&self, deadline: Deadline) -> Result<(), ProviderError> {
        if self.busy.swap(true, Ordering::Relaxed) {
            return Err(ProviderError::TimedOut("the plugin's last check has not ended".into()));
        }
        let (answer, given) = oneshot::channel();
        if self.queue.push(Request { deadline, answer }).is_err() {
            return Err(ProviderError::Unavailable("the plugin is closed".into()));
        }
        match timeout_at(deadline.at(), given).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(ProviderError::Defect("the check ended without an answer".into())),
            Err(_) => Err(ProviderError::TimedOut("the plugin's check did not end in time".into())),
        }
    }

    /// No more checks.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

fn serve(py: Python<'_>, plugin: &Plugin, queue: &Queue<Request>, busy: &AtomicBool) {
    while let Some(request) = py.detach(|| queue.pop()) {
        let seconds = request.deadline.left().as_secs_f64();
        let returned = match (&plugin.check, &plugin.event_loop) {
            (Some(check), event_loop) => check.call(py, event_loop.as_ref(), Some(seconds)),
            (None, Some(event_loop)) => event_loop.object.bind(py).call_method1("answers", (seconds,)),
            (None, None) => Ok(py.None().into_bound(py)),
        };
        let answer = plugin.judge.check(returned, py);
        py.detach(|| {
            plugin.interpreter.signals.verify();
            busy.store(false, Ordering::Relaxed);
            // The gateway may have stopped waiting.
            let _ = request.answer.send(answer);
        });
    }
}
