//! What a program writes, line by line, and waiting for a line of it.

use std::{
    io::{BufRead, BufReader, Read},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::watch;

use super::lock;

/// One line. Fields are those of a JSON line; a line that is not JSON has none.
#[derive(Clone, Debug)]
pub struct Line {
    /// As it was written, without the line ending.
    pub text: String,
    json: Value,
}

/// The lines of one output so far. Clones show the same output.
#[derive(Clone, Debug)]
pub struct Log {
    name: String,
    shared: Arc<Shared>,
    changes: watch::Receiver<()>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<Line>,
    closed: bool,
}

impl Line {
    fn new(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Self { text, json }
    }

    /// A field as text, if it is there and text.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.json.get(name)?.as_str()
    }

    /// A field as a number, also when it is written as text.
    pub fn number(&self, name: &str) -> Option<f64> {
        let value = self.json.get(name)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    }

    /// The whole object; `null` when the line is not JSON.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Whether `message` is exactly this.
    pub fn says(&self, message: &str) -> bool {
        self.field("message") == Some(message)
    }
}

impl Log {
    pub(super) fn read(name: String, source: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let (sender, changes) = watch::channel(());
        let log = Self { name, shared: Arc::clone(&shared), changes };
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut bytes = Vec::new();
            while source.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
                lock(&shared.state).lines.push(Line::new(&bytes));
                bytes.clear();
                shared.changed.notify_all();
                sender.send_replace(());
            }
            lock(&shared.state).closed = true;
            shared.changed.notify_all();
            sender.send_replace(());
        });
        log
    }

    /// How many lines there are: later lines can be waited for with [`Log::wait_after`].
    pub fn mark(&self) -> usize {
        self.state().lines.len()
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        self.state().lines.clone()
    }

    /// All text so far.
    pub fn text(&self) -> String {
        self.state().lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    /// Waits for the first line that fits, from the beginning on. Blocks the thread.
    #[track_caller]
    pub fn wait_for(&self, fits: impl Fn(&Line) -> bool, bound: Duration) -> Line {
        self.wait_after(0, fits, bound)
    }

    /// Waits for the first line that fits from line `mark` on. Blocks the thread.
    #[track_caller]
    pub fn wait_after(&self, mark: usize, fits: impl Fn(&Line) -> bool, bound: Duration) -> Line {
        let end = Instant::now() + bound;
        let mut seen = mark;
        let mut state = self.state();
        loop {
            if let Some(line) = next(&state, &mut seen, &fits) {
                return line;
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                drop(state);
                self.missing(bound);
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// [`Log::wait_after`] for tests whose own tasks must go on meanwhile.
    pub async fn seen(&self, mark: usize, fits: impl Fn(&Line) -> bool, bound: Duration) -> Line {
        let mut changes = self.changes.clone();
        let mut seen = mark;
        let search = async {
            loop {
                changes.borrow_and_update();
                let closed = {
                    let state = self.state();
                    if let Some(line) = next(&state, &mut seen, &fits) {
                        return Some(line);
                    }
                    state.closed
                };
                if closed || changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        match tokio::time::timeout(bound, search).await {
            Ok(Some(line)) => line,
            Ok(None) | Err(_) => self.missing(bound),
        }
    }

    /// Waits until the output is closed, and returns all of it.
    pub fn whole(&self, bound: Duration) -> String {
        let (state, time) = self.shared.changed.wait_timeout_while(self.state(), bound, |state| !state.closed).unwrap();
        drop(state);
        assert!(!time.timed_out(), "{} is still open after {bound:?}; {}", self.name, self.tail());
        self.text()
    }

    /// The last lines, for an error message.
    pub fn tail(&self) -> String {
        let state = self.state();
        let from = state.lines.len().saturating_sub(TAIL);
        let lines: String = state.lines[from..].iter().map(|line| format!("\n    {}", line.text)).collect();
        let end = if state.closed { "closed" } else { "open" };
        format!("{} ({} lines, {end}) ends with:{lines}", self.name, state.lines.len())
    }

    #[track_caller]
    fn missing(&self, bound: Duration) -> ! {
        panic!("no line as expected within {bound:?}; {}", self.tail())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

/// Each line is looked at once.
fn next(state: &State, seen: &mut usize, fits: &impl Fn(&Line) -> bool) -> Option<Line> {
    let found = state.lines.iter().skip(*seen).find(|line| fits(line)).cloned();
    *seen = state.lines.len();
    found
}

const TAIL: usize = 30;
