//! `async def`: one event loop on a thread of its own, which takes its work from a queue and a wake-up socket.
//!
//! Nobody else has to attach to Python to give it work. A lookup whose caller has left is cancelled in the loop; its slot
//! comes back when the coroutine has really ended. A coroutine that blocks blocks the loop, and is seen as that.

use std::{
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use pyo3::{
    exceptions::{PyOSError, PyRuntimeError},
    prelude::*,
    types::{PyCFunction, PyDict, PyTuple},
};

use crate::{
    answer::Judge,
    queue::Queue,
    work::Work,
    workers::{HAND_OFF, STACK},
};

/// The loop, as its thread and those that need an answer from it on the spot know it.
pub(crate) struct EventLoop {
    /// `Loop` of the prelude.
    pub(crate) object: Py<PyAny>,
    inbox: Arc<Inbox>,
}

/// What is on its way to the loop.
struct Inbox {
    queue: Queue<Order>,
    wake: UnixStream,
    woken: UnixStream,
    next: AtomicU64,
}

enum Order {
    Start(u64, Work),
    Cancel(u64),
}

/// A lookup under way. Dropping it cancels the coroutine, unless that has ended.
pub(crate) struct Ticket {
    number: u64,
    inbox: Arc<Inbox>,
}

impl EventLoop {
    /// Starts the thread; the loop runs from now on.
    pub(crate) fn start(py: Python<'_>, prelude: &Bound<'_, PyModule>) -> PyResult<Self> {
        let object = prelude.getattr("Loop")?.call0()?.unbind();
        let inbox = Arc::new(Inbox::new().map_err(|error| PyOSError::new_err(error.to_string()))?);
        let (runs, woken) = (object.clone_ref(py), inbox.woken.as_raw_fd());
        // Orders wait in the inbox until the plugin is there to obey them.
        let nothing = PyCFunction::new_closure(py, None, None, |_, _| -> PyResult<()> { Ok(()) })?.unbind();
        let live = move || {
            Python::attach(|py| {
                if let Err(error) = runs.bind(py).call_method1("run", (woken, nothing)) {
                    let kind = crate::fault::kind(py, &error);
                    py.detach(|| tracing::error!(kind, "the event loop ended"));
                }
            });
        };
        thread::Builder::new()
            .name("python-loop".into())
            .stack_size(STACK)
            .spawn(live)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self { object, inbox })
    }

    /// Lets lookups in.
    pub(crate) fn serve(&self, py: Python<'_>, lookup: &Py<PyAny>, judge: &Arc<Judge>) -> PyResult<()> {
        let (object, lookup) = (self.object.clone_ref(py), lookup.clone_ref(py));
        let (inbox, judge) = (Arc::clone(&self.inbox), Arc::clone(judge));
        let drain = PyCFunction::new_closure(py, None, None, move |arguments, _| {
            obey(arguments.py(), &object, &lookup, &inbox, &judge)
        })?;
        let native = self.object.bind(py).getattr("loop")?;
        native.call_method1(
            "call_soon_threadsafe",
            (native.getattr("add_reader")?, self.inbox.woken.as_raw_fd(), drain),
        )?;
        Ok(())
    }

    /// Hands a lookup over. Never waits.
    pub(crate) fn submit(&self, work: Work) -> Option<Ticket> {
        let number = self.inbox.next.fetch_add(1, Ordering::Relaxed);
        self.inbox.send(Order::Start(number, work))?;
        Some(Ticket { number, inbox: Arc::clone(&self.inbox) })
    }

    /// No more lookups; those that have not begun are dropped.
    pub(crate) fn close(&self) {
        self.inbox.queue.close();
    }
}

/// In the loop's thread: begins what has come, cancels what has been given up.
fn obey(py: Python<'_>, object: &Py<PyAny>, lookup: &Py<PyAny>, inbox: &Inbox, judge: &Arc<Judge>) -> PyResult<()> {
    for order in inbox.receive() {
        match order {
            Order::Start(_, work) if work.is_abandoned() => {}
            Order::Start(number, work) => {
                let node = work.node.as_str().to_owned();
                let done = done(py, work, Arc::clone(judge))?;
                object.bind(py).call_method1("start", (number, lookup, node, done))?;
            }
            Order::Cancel(number) => drop(object.bind(py).call_method1("cancel", (number,))?),
        }
    }
    Ok(())
}

/// Called once by the loop: `done(value, error)`. A coroutine that ends without it drops the work all the same.
fn done(py: Python<'_>, work: Work, judge: Arc<Judge>) -> PyResult<Bound<'_, PyCFunction>> {
    let work = Mutex::new(Some(work));
    PyCFunction::new_closure(
        py,
        None,
        None,
        move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
            let py = arguments.py();
            let Some(work) = work.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
            let (value, error) = (arguments.get_item(0)?, arguments.get_item(1)?);
            let returned = if error.is_none() { Ok(value) } else { Err(PyErr::from_value(error)) };
            let answer = judge.lookup(&work.node, returned, py);
            work.end(answer);
            Ok(())
        },
    )
}

impl Inbox {
    fn new() -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Self { queue: Queue::new(2 * HAND_OFF), wake, woken, next: AtomicU64::new(0) })
    }

    fn send(&self, order: Order) -> Option<()> {
        self.queue.push(order).ok()?;
        // A full socket wakes the loop as well as one more byte would.
        let _ = (&self.wake).write(&[0]);
        Some(())
    }

    /// First the bytes, then the orders: what comes in between wakes the loop again.
    fn receive(&self) -> impl Iterator<Item = Order> + use<> {
        let mut bytes = [0; 512];
        while (&self.woken).read(&mut bytes).is_ok_and(|count| count > 0) {}
        self.queue.take().into_iter()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Of one that has ended the loop knows nothing any more.
        let _ = self.inbox.send(Order::Cancel(self.number));
    }
}
