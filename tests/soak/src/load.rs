//! What several sections share: a runtime, numbers without a pattern, threads that keep the processor busy, percentiles.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, available_parallelism, spawn},
    time::Duration,
};

/// No answer and no exit takes longer; whoever meets this bound ends the run.
pub const BOUND: Duration = Duration::from_secs(60);

/// Runs a section.
pub fn run(section: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(section);
}

/// Work on a thread and runtime of its own, so that what it measures waits for nobody else's work.
pub struct Beside<T>(JoinHandle<T>);

/// Begins it.
pub fn beside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Beside<T> {
    Beside(spawn(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)))
}

impl<T: Send + 'static> Beside<T> {
    /// What has come of it.
    pub async fn ended(self) -> T {
        let ended = tokio::task::spawn_blocking(|| self.0.join()).await.unwrap();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Up to `most`, different every time.
pub fn random(most: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish();
    most.mul_f64((chance % 10_000) as f64 / 10_000.0)
}

/// The value that so many in a hundred do not exceed.
pub fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// `12.3 ms`
pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// One thread per core that never rests.
pub struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    pub fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |stop: Arc<AtomicBool>| {
            spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let cores = available_parallelism().unwrap().get();
        let threads = (0..cores).map(|_| spin(Arc::clone(&stop))).collect();
        Self { stop, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
