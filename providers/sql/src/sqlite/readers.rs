//! The threads that read: each holds one connection, and all of them take lookups from one queue.
//!
//! Decides how many are awake. Waking a thread costs more than a lookup, so one that is awake takes lookup after lookup and
//! rests only when none is left, and while lookups come in crowds it is called when all that are ready have lined up (0.1
//! wakes a lookup at 64 under way instead of 0.7, measured). Another is called when those awake have been busy with one
//! statement each for a while, or when a lookup has waited for so long. A slow statement, a lock or a cold disk thus holds up
//! the others for a millisecond, and threads are as many as it takes. A lookup that nobody came to in time is withdrawn.
//!
//! A connection whose statement went wrong is closed, and the next lookup of that thread opens another one.

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use credgate_provider::{Detail, NodeId, Password, PasswordRule, ProviderError, Slot};
use tokio::{
    spawn,
    task::yield_now,
    time::{self, timeout_at},
};

use super::{reading::Reading, source::Source};
use crate::{
    backend::Usage,
    task::{Answer, Bound, NO_ANSWER},
    vacancy::Vacancy,
};

/// The readers of one file.
pub(super) struct Readers {
    pub(super) source: Source,
    vacancy: Arc<Vacancy>,
    most: usize,
    desk: Mutex<Desk>,
}

/// One lookup. Whoever works on it holds the slot until the work has ended.
pub(super) struct Question {
    pub(super) node: NodeId,
    pub(super) rule: PasswordRule,
    pub(super) bound: Bound,
    pub(super) slot: Slot,
}

/// What waits for a reader, and where each of them is.
#[derive(Default)]
struct Desk {
    queue: VecDeque<Waiting>,
    readers: Vec<Reader>,
    /// Of the next lookup.
    number: u64,
    /// A reader is about to be called.
    call_due: bool,
    /// So many times more a reader is called without waiting for others to line up.
    at_once: u32,
    /// Why nothing is read any more.
    retired: Option<Detail>,
}

struct Waiting {
    number: u64,
    question: Question,
    answer: Answer<Option<Password>>,
}

/// A reader is called when this ends, however it ends.
struct Call(Arc<Readers>);

struct Reader {
    thread: JoinHandle<()>,
    /// Since when it has been at its present lookup; `None`: it rests.
    busy: Option<Instant>,
}

/// How long one statement may take before another reader is called: a hundred times what a lookup by primary key takes.
const PATIENCE: Duration = Duration::from_millis(1);

/// After one lookup that was alone, so many are taken to be.
const ALONE: u32 = 16;

impl Readers {
    /// At most `most` threads, none yet.
    pub(super) fn new(source: Source, vacancy: Arc<Vacancy>, most: usize) -> Self {
        Self { source, vacancy, most, desk: Mutex::default() }
    }

    /// Has a reader look a node up. Dropping the future leaves the work to its reader.
    pub(super) async fn lookup(self: &Arc<Self>, question: Question) -> Result<Option<Password>, ProviderError> {
        let bound = question.bound;
        let (answer, mut given) = Answer::new();
        let number = self.line_up(question, answer)?;
        let patience = bound.work.min(time::Instant::now() + PATIENCE);
        let mut ended = timeout_at(patience, &mut given).await;
        if ended.is_err() {
            self.hurry();
            ended = timeout_at(bound.work, &mut given).await;
        }
        if ended.is_err() {
            if let Some(why) = self.withdraw(number) {
                return Err(ProviderError::TimedOut(why));
            }
            ended = timeout_at(bound.answer, given).await;
        }
        match ended {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(ProviderError::Defect("a reader gave up a lookup without an answer".into())),
            Err(_) => Err(ProviderError::TimedOut(NO_ANSWER.into())),
        }
    }

    /// From now on nothing is read. Readers that rest close their connections at once: returned, to wait for. Statements
    /// that still run do so at their bound at the latest.
    pub(super) fn retire(&self, why: Detail) -> Vec<JoinHandle<()>> {
        let (queue, readers) = {
            let mut desk = self.desk();
            desk.retired = Some(why.clone());
            (mem::take(&mut desk.queue), mem::take(&mut desk.readers))
        };
        for waiting in queue {
            waiting.answer.give(Err(ProviderError::Unavailable(why.clone())));
        }
        let resting: Vec<_> = readers.into_iter().filter(|reader| reader.busy.is_none()).collect();
        resting.iter().for_each(|reader| reader.thread.thread().unpark());
        resting.into_iter().map(|reader| reader.thread).collect()
    }

    pub(super) fn usage(&self) -> Usage {
        let desk = self.desk();
        let busy = desk.readers.iter().filter(|reader| reader.busy.is_some()).count();
        Usage { most: self.most, busy, idle: desk.readers.len() - busy }
    }

    /// Its number, by which it can be withdrawn.
    fn line_up(self: &Arc<Self>, question: Question, answer: Answer<Option<Password>>) -> Result<u64, ProviderError> {
        let mut desk = self.desk();
        if let Some(why) = &desk.retired {
            return Err(ProviderError::Unavailable(why.clone()));
        }
        let number = desk.number;
        desk.number += 1;
        desk.queue.push_back(Waiting { number, question, answer });
        let now = Instant::now();
        let prompt = |reader: &Reader| reader.busy.is_some_and(|since| now.duration_since(since) < PATIENCE);
        if desk.call_due || desk.readers.iter().any(prompt) {
            return Ok(number);
        }
        if let Some(left) = desk.at_once.checked_sub(1) {
            desk.at_once = left;
            self.call(desk);
        } else {
            desk.call_due = true;
            // A runtime that ends drops the task right here.
            drop(desk);
            let call = Call(Arc::clone(self));
            spawn(async move {
                yield_now().await;
                drop(call);
            });
        }
        Ok(number)
    }

    /// A lookup has waited for long.
    fn hurry(self: &Arc<Self>) {
        let desk = self.desk();
        if !desk.queue.is_empty() {
            self.call(desk);
        }
    }

    /// Why no reader came to it; `None`: one did.
    fn withdraw(&self, number: u64) -> Option<Detail> {
        let mut desk = self.desk();
        let place = desk.queue.iter().position(|waiting| waiting.number == number)?;
        desk.queue.remove(place);
        let busy = desk.readers.iter().filter(|reader| reader.busy.is_some()).count();
        Some(match self.most {
            most if busy == most => format!("all {most} connections stayed busy (provider.sql.max_connections)").into(),
            _ => NO_ANSWER.into(),
        })
    }

    /// Wakes a reader that rests, or starts one more. The first that rests: the fewer do the work, the warmer their caches.
    fn call(self: &Arc<Self>, mut desk: MutexGuard<'_, Desk>) {
        let now = Instant::now();
        if let Some(reader) = desk.readers.iter_mut().find(|reader| reader.busy.is_none()) {
            reader.busy = Some(now);
            let thread = reader.thread.thread().clone();
            drop(desk);
            return thread.unpark();
        }
        let index = desk.readers.len();
        if index == self.most {
            return;
        }
        let readers = Arc::clone(self);
        match thread::Builder::new().name(format!("sqlite-{index}")).spawn(move || readers.read(index)) {
            Ok(thread) => desk.readers.push(Reader { thread, busy: Some(now) }),
            // Those that are there go on.
            Err(_) if index > 0 => {}
            Err(error) => {
                let why = Detail::from(format!("the system gives no thread to read with: {error}"));
                for waiting in desk.queue.drain(..) {
                    waiting.answer.give(Err(ProviderError::Unavailable(why.clone())));
                }
            }
        }
    }

    /// The life of a reader.
    fn read(&self, index: usize) {
        let mut reading = Reading::default();
        while let Some((Waiting { number, question, answer, .. }, line)) = self.next(index, &mut reading) {
            // Nobody waits for it any more.
            if !answer.is_wanted() {
                continue;
            }
            let Question { node, rule, bound, slot } = question;
            let asked =
                catch_unwind(AssertUnwindSafe(|| reading.rows(&self.source, &node, bound, number..line, PATIENCE)));
            // The work has ended, whoever still waits for the answer.
            drop(slot);
            match asked {
                Ok(Ok(matches)) => answer.give(self.vacancy.judge(matches, rule)),
                Ok(Err(fault)) => answer.give(Err(fault.into())),
                Err(_) => answer.give(Err(ProviderError::Defect("a reader panicked".into()))),
            }
        }
    }

    /// The next lookup, as soon as there is one, and the number of the one that will come after all that wait now; `None`
    /// once retired.
    fn next(&self, index: usize, reading: &mut Reading) -> Option<(Waiting, u64)> {
        loop {
            {
                let mut desk = self.desk();
                if desk.retired.is_some() {
                    return None;
                }
                if let Some(waiting) = desk.queue.pop_front() {
                    desk.readers[index].busy = Some(Instant::now());
                    return Some((waiting, desk.number));
                }
                if !reading.has_view() {
                    desk.readers[index].busy = None;
                }
            }
            if reading.has_view() {
                reading.end_view();
            } else {
                thread::park();
            }
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who waited and was alone costs a turn of the runtime for nothing, so the next ones do not wait.
impl Drop for Call {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        desk.call_due = false;
        if desk.queue.len() <= 1 {
            desk.at_once = ALONE;
        }
        if !desk.queue.is_empty() {
            self.0.call(desk);
        }
    }
}
