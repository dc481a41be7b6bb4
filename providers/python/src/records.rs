//! What a plugin says: records of the logger `credgate.plugin` on their way to our log, and prints, which are counted.
//!
//! The Python side hands over a level and a text and goes on at once; a thread of its own writes. When it does not keep
//! up, records are dropped and counted: a plugin that floods its log must not hold the interpreter up.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use credgate_provider::Detail;
use tokio::sync::oneshot;
use tracing::Level;

use crate::queue::Queue;

/// Where the records go.
pub(crate) struct Records {
    queue: Queue<Note>,
    dropped: AtomicU64,
    printed: AtomicUsize,
}

enum Note {
    Record { level: u8, logger: Detail, text: Detail },
    Prints,
    Flush(oneshot::Sender<()>),
}

/// The records of the process's one interpreter.
pub(crate) static RECORDS: LazyLock<Arc<Records>> = LazyLock::new(|| {
    let records =
        Arc::new(Records { queue: Queue::new(MOST), dropped: AtomicU64::new(0), printed: AtomicUsize::new(0) });
    let writer = Arc::clone(&records);
    // Without a thread the queue fills and records are dropped: the log is the lesser loss.
    drop(thread::Builder::new().name("python-log".into()).spawn(move || writer.write()));
    records
});

impl Records {
    /// Takes a record. Never waits.
    pub(crate) fn record(&self, level: u8, logger: &str, text: &str) {
        if self.queue.push(Note::Record { level, logger: Detail::new(logger), text: Detail::new(text) }).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts what was printed; the first time is worth a line.
    pub(crate) fn printed(&self, characters: usize) {
        if characters > 0 && self.printed.fetch_add(characters, Ordering::Relaxed) == 0 {
            let _ = self.queue.push(Note::Prints);
        }
    }

    /// Ends once everything handed over before has been written.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let mut note = Note::Flush(done);
        // A full queue has room again in a moment; the gateway bounds how long that may take.
        while let Err(back) = self.queue.push(note) {
            note = back;
            tokio::time::sleep(TICK).await;
        }
        // The writer's end is the process's.
        let _ = written.await;
        let characters = self.printed.load(Ordering::Relaxed);
        if characters > 0 {
            tracing::warn!(characters, "what the plugin printed was discarded");
        }
    }

    fn write(&self) {
        while let Some(note) = self.queue.pop() {
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(dropped, "the plugin logs faster than records can be written; some were dropped");
            }
            match note {
                Note::Record { level, logger, text } => tell(level, &logger, &text),
                Note::Prints => {
                    tracing::warn!("the plugin prints, which is discarded; its logger is \"credgate.plugin\"");
                }
                Note::Flush(done) => drop(done.send(())),
            }
        }
    }
}

fn tell(level: u8, logger: &Detail, text: &Detail) {
    match level {
        40.. => tracing::error!(target: TARGET, %logger, %text, "plugin"),
        30..40 => tracing::warn!(target: TARGET, %logger, %text, "plugin"),
        20..30 => tracing::info!(target: TARGET, %logger, %text, "plugin"),
        10..20 => tracing::debug!(target: TARGET, %logger, %text, "plugin"),
        _ => tracing::trace!(target: TARGET, %logger, %text, "plugin"),
    }
}

/// The least level worth making a record for, in Python's numbers.
pub(crate) fn level() -> u8 {
    [(Level::TRACE, 1), (Level::DEBUG, 10), (Level::INFO, 20), (Level::WARN, 30)]
        .into_iter()
        .find(|(level, _)| enabled(*level))
        .map_or(40, |(_, number)| number)
}

fn enabled(level: Level) -> bool {
    match level {
        Level::TRACE => tracing::enabled!(target: TARGET, Level::TRACE),
        Level::DEBUG => tracing::enabled!(target: TARGET, Level::DEBUG),
        Level::INFO => tracing::enabled!(target: TARGET, Level::INFO),
        _ => tracing::enabled!(target: TARGET, Level::WARN),
    }
}

/// Follows `log.level`, as everything below `credgate` does.
const TARGET: &str = "credgate::plugin";

/// Records that wait to be written: a burst, not a flood.
const MOST: usize = 1024;

/// Between two attempts to flush a full queue.
const TICK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_dropped_and_counted_without_waiting() {
        let records = Records { queue: Queue::new(2), dropped: AtomicU64::new(0), printed: AtomicUsize::new(0) };
        for _ in 0..5 {
            records.record(20, "credgate.plugin", "flood");
        }
        assert_eq!(records.dropped.load(Ordering::Relaxed), 3);
    }
}
