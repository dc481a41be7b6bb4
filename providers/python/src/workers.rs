//! Plain functions: a fixed number of threads, each in at most one call at a time.
//!
//! A thread attaches to Python once and stays attached, so that what a plugin keeps per thread (a connection, a session)
//! lasts; the interpreter's lock is let go while it waits for work. A call that never returns keeps its thread.

use std::{io, sync::Arc, thread};

use pyo3::prelude::*;

use crate::{plugin::Plugin, queue::Queue, work::Work};

/// Starts the threads.
pub(crate) fn start(plugin: &Arc<Plugin>, workers: usize) -> io::Result<Arc<Queue<Work>>> {
    let queue = Arc::new(Queue::new(HAND_OFF));
    for number in 0..workers {
        let (plugin, queue) = (Arc::clone(plugin), Arc::clone(&queue));
        thread::Builder::new()
            .name(format!("python-{number}"))
            .stack_size(STACK)
            .spawn(move || Python::attach(|py| serve(py, &plugin, &queue)))?;
    }
    Ok(queue)
}

fn serve(py: Python<'_>, plugin: &Plugin, queue: &Queue<Work>) {
    let mut ended: Option<(Work, _)> = None;
    loop {
        // Wakes the caller without the lock: it has other threads to serve.
        let work = py.detach(|| {
            if let Some((work, answer)) = ended.take() {
                Work::end(work, answer);
            }
            queue.pop()
        });
        let Some(work) = work else { return };
        if work.is_abandoned() {
            continue;
        }
        let returned = plugin.lookup.object.bind(py).call1((work.node.as_str(),));
        let answer = plugin.judge.lookup(&work.node, returned, py);
        ended = Some((work, answer));
    }
}

/// What a thread of Python's own has on Linux; deep recursion in C code needs it.
pub(crate) const STACK: usize = 8 << 20;

/// The slots keep work to the number of threads; this bounds what comes from a caller that has none.
pub(crate) const HAND_OFF: usize = 4096;
