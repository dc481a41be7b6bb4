//! The open provider: every method hands work to a Python thread and waits for a plain answer, never for Python itself.

use std::{fmt, sync::Arc, thread};

use credgate_provider::{
    BoxFuture, Deadline, Detail, NodeId, Number, OpenError, Password, Provider, ProviderError, Slot,
};
use futures::FutureExt;
use pyo3::prelude::*;
use tokio::{sync::oneshot, time::timeout_at};

use crate::{
    check::Checker,
    event_loop::{EventLoop, Ticket},
    plugin::Plugin,
    queue::Queue,
    records::RECORDS,
    work::Work,
    workers::{self, STACK},
};

pub(crate) struct PythonProvider {
    plugin: Arc<Plugin>,
    checker: Checker,
    /// For plain functions; `None` when lookups run in the event loop.
    threads: Option<Arc<Queue<Work>>>,
    workers: usize,
}

impl PythonProvider {
    pub(crate) fn start(checker: Checker, plugin: Arc<Plugin>, workers: usize) -> Result<Self, OpenError> {
        let threads = match plugin.lookup.is_async {
            true => None,
            false => Some(workers::start(&plugin, workers).map_err(|error| {
                OpenError::Unavailable(format!("the system gives no {workers} threads: {error}").into())
            })?),
        };
        Ok(Self { plugin, checker, threads, workers })
    }

    /// Hands a lookup over. The ticket, where there is one, cancels it when dropped.
    fn submit(&self, work: Work) -> Result<Option<Ticket>, ProviderError> {
        let full = || ProviderError::Unavailable("more lookups than the plugin's threads can be handed".into());
        match (&self.threads, &self.plugin.event_loop) {
            (Some(queue), _) => queue.push(work).map(|()| None).map_err(|_| full()),
            (None, Some(event_loop)) => event_loop.submit(work).map(Some).ok_or_else(full),
            (None, None) => Err(ProviderError::Defect("the plugin has neither threads nor a loop".into())),
        }
    }
}

impl Provider for PythonProvider {
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        async move {
            let (work, given) = Work::new(node.clone(), slot);
            let _cancels = self.submit(work)?;
            match timeout_at(deadline.at(), given).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(ProviderError::Defect("the call ended without an answer".into())),
                Err(_) => Err(ProviderError::TimedOut("the plugin did not answer in time".into())),
            }
        }
        .boxed()
    }

    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        self.checker.check(deadline).boxed()
    }

    /// `close()` runs on a thread of its own, since any other may be stuck. How it fails is only logged.
    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            let (done, closed) = oneshot::channel();
            let plugin = Arc::clone(&self.plugin);
            let live = move || {
                let _ = done.send(Python::attach(|py| close(py, &plugin)));
            };
            match thread::Builder::new().name("python-close".into()).stack_size(STACK).spawn(live) {
                Ok(_) => {
                    if let Ok(Some(detail)) = closed.await {
                        tracing::error!(%detail, "the plugin's close() failed");
                    }
                }
                Err(error) => tracing::error!(%error, "no thread for the plugin's close()"),
            }
            self.checker.close();
            if let Some(queue) = &self.threads {
                queue.close();
            }
            self.plugin.event_loop.iter().for_each(EventLoop::close);
            RECORDS.flush().await;
        }
        .boxed()
    }

    fn summary(&self) -> String {
        format!("{}, {} lookups at once", self.plugin.facts, self.workers)
    }

    /// A thread that wakes up for work still counts as idle for a moment.
    fn numbers(&self) -> Vec<Number> {
        let (threads, idle) = match &self.threads {
            Some(queue) => (self.workers, queue.idle()),
            // The loop's thread: how many coroutines are under way, the slots show.
            None => (1, 0),
        };
        vec![
            Number::gauge("threads", "Threads that call the plugin's lookup()", threads),
            Number::gauge("threads_idle", "Of these, threads that wait for work (0 for an async plugin)", idle),
        ]
    }
}

/// What went wrong, as text.
fn close(py: Python<'_>, plugin: &Plugin) -> Option<Detail> {
    let function = plugin.close.as_ref()?;
    let error = function.call(py, plugin.event_loop.as_ref(), None).err()?;
    Some(Detail::new(crate::fault::describe(py, &error, plugin.judge.file.as_deref())))
}

impl fmt::Debug for PythonProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonProvider").field("workers", &self.workers).finish_non_exhaustive()
    }
}
