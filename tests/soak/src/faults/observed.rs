//! Callers that ask all the time, and what they were told.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use credgate_support::{deployment::Deployment, grpc::Client, process::Gateway};
use tokio::{
    task::{JoinSet, block_in_place},
    time::sleep,
};

pub const CALLERS: usize = 16;
/// How long is waited for a right answer after a fault.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between an answer and the next question of a caller.
const PAUSE: Duration = Duration::from_millis(5);

/// What node 2000's password is, before and after.
pub struct Passwords {
    pub before: String,
    pub after: String,
}

pub struct Observed {
    answers: Vec<Answer>,
    began: Instant,
    ended: Instant,
}

struct Answer {
    at: Instant,
    took: Duration,
    ending: Ending,
}

enum Ending {
    /// What the node's password is after the fault.
    Right,
    /// What it was before.
    Former,
    Wrong,
    /// Any status but OK and NOT_FOUND.
    Status(String),
}

/// What the callers share.
struct Shared {
    client: Client,
    passwords: Passwords,
    answers: Mutex<Vec<Answer>>,
    /// When the fault was over.
    over: Mutex<Option<Instant>>,
}

/// Asks from before a fault until the answers are right again after it. `before` looks at the servers under load, `fault`
/// lasts as long as the fault does; both block the thread, and the callers have others.
pub async fn observe<B>(
    deployment: &Deployment,
    gateway: &Gateway,
    passwords: Passwords,
    before: impl FnOnce() -> B,
    fault: impl FnOnce(),
) -> (Observed, B) {
    let client = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
    let shared = Arc::new(Shared { client, passwords, answers: Mutex::default(), over: Mutex::default() });
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(ask(Arc::clone(&shared)));
    }
    sleep(Duration::from_secs(1)).await;
    let before = block_in_place(before);
    let began = Instant::now();
    block_in_place(fault);
    let ended = Instant::now();
    *locked(&shared.over) = Some(ended);
    callers.join_all().await;
    let answers = std::mem::take(&mut *locked(&shared.answers));
    (Observed { answers, began, ended }, before)
}

/// One caller.
async fn ask(shared: Arc<Shared>) {
    loop {
        let at = Instant::now();
        let ending = shared.passwords.judge(shared.client.lookup("2000").await);
        let took = at.elapsed();
        let right = matches!(ending, Ending::Right);
        locked(&shared.answers).push(Answer { at, took, ending });
        let over = *locked(&shared.over);
        if over.is_some_and(|over| (at > over && right) || over.elapsed() > PATIENCE) {
            return;
        }
        sleep(PAUSE).await;
    }
}

impl Passwords {
    fn judge(&self, answer: Result<String, String>) -> Ending {
        match answer {
            Ok(password) if password == self.after => Ending::Right,
            Ok(password) if password == self.before => Ending::Former,
            Ok(_) => Ending::Wrong,
            Err(ending) if ending.starts_with("NOT_FOUND") => Ending::Wrong,
            Err(ending) => Ending::Status(ending),
        }
    }
}

impl Observed {
    /// Five columns: statuses, slowest, p99, first right answer, wrong answers.
    pub fn columns(&self) -> String {
        let during = || self.answers.iter().filter(|answer| answer.at >= self.began && answer.at < self.ended);
        let mut counts = BTreeMap::new();
        for answer in during() {
            let status = match &answer.ending {
                Ending::Right | Ending::Former => "OK",
                Ending::Wrong => "WRONG",
                Ending::Status(ending) => ending,
            };
            *counts.entry(status).or_insert(0) += 1;
        }
        let statuses: Vec<_> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        let mut times: Vec<Duration> = during().map(|answer| answer.took).collect();
        times.sort_unstable();
        let p99 = times.get((times.len() * 99 / 100).min(times.len().saturating_sub(1)));
        let right = |answer: &&Answer| matches!(answer.ending, Ending::Right);
        let ends = self.answers.iter().filter(right).map(|answer| answer.at + answer.took);
        let first = ends.filter(|at| *at >= self.ended).min().map(|at| at - self.ended);
        let wrong = self.answers.iter().filter(|answer| matches!(answer.ending, Ending::Wrong)).count();
        format!(
            "{} | {} | {} | {} | {wrong}",
            if statuses.is_empty() { "none".to_owned() } else { statuses.join(", ") },
            show(times.last()),
            show(p99),
            show(first.as_ref()),
        )
    }
}

fn show(time: Option<&Duration>) -> String {
    time.map_or("none".into(), |time| format!("{} ms", time.as_millis()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
