//! The provider itself: each behaviour in a few lines.

use std::{
    future::pending,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use credgate_provider::{BoxFuture, Deadline, Detail, NodeId, Password, PasswordRule, Provider, ProviderError, Slot};
use tokio::time::{sleep, timeout_at};

use super::{
    behaviour::{Behaviour, CheckBehaviour, CloseBehaviour},
    state::{State, Work},
};

type Answer = Result<Option<Password>, ProviderError>;

#[derive(Debug)]
pub(super) struct ScriptedProvider {
    state: Arc<State>,
    passwords: PasswordRule,
}

impl ScriptedProvider {
    pub(super) fn new(state: Arc<State>, passwords: PasswordRule) -> Self {
        Self { state, passwords }
    }
}

impl Provider for ScriptedProvider {
    fn lookup<'a>(&'a self, node: &'a NodeId, deadline: Deadline, slot: Slot) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let (behaviour, work) = self.state.begin(node.as_str(), slot);
            perform(behaviour, Lookup { state: Arc::clone(&self.state), passwords: self.passwords, deadline, work })
                .await
        })
    }

    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(async move {
            match self.state.begin_check() {
                CheckBehaviour::Ok => Ok(()),
                CheckBehaviour::Fail => Err(ProviderError::Unavailable(SCRIPTED.into())),
                CheckBehaviour::Defect => Err(ProviderError::Defect(SCRIPTED.into())),
                CheckBehaviour::Hang => pending().await,
                CheckBehaviour::Delay { ms } => wait(ms, deadline).await,
                CheckBehaviour::Panic => panic!("scripted panic in check"),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match self.state.begin_close() {
                CloseBehaviour::Ok => {}
                CloseBehaviour::Hang => pending().await,
                CloseBehaviour::Panic => panic!("scripted panic in close"),
            }
        })
    }

    fn summary(&self) -> String {
        "does what it is told".into()
    }
}

struct Lookup {
    state: Arc<State>,
    passwords: PasswordRule,
    deadline: Deadline,
    work: Work,
}

/// The work ends when `lookup` is dropped, wherever it has gone by then.
fn perform(behaviour: Behaviour, lookup: Lookup) -> BoxFuture<'static, Answer> {
    Box::pin(async move {
        match behaviour {
            Behaviour::Password { text } => stored(&lookup, text.as_bytes()),
            Behaviour::Bytes { bytes } => stored(&lookup, &bytes),
            Behaviour::None => Ok(None),
            Behaviour::Unavailable => Err(ProviderError::Unavailable(SCRIPTED.into())),
            Behaviour::TimedOut => Err(ProviderError::TimedOut(SCRIPTED.into())),
            Behaviour::Corrupt => Err(ProviderError::Corrupt(SCRIPTED.into())),
            Behaviour::Defect => Err(ProviderError::Defect(SCRIPTED.into())),
            Behaviour::Panic => panic!("scripted panic in lookup"),
            Behaviour::Delay { ms, then } => {
                wait(ms, lookup.deadline).await?;
                perform(*then, lookup).await
            }
            Behaviour::Work { ms, then } => {
                let work = async move {
                    sleep(Duration::from_millis(ms)).await;
                    perform(*then, lookup).await
                };
                tokio::spawn(work).await.unwrap_or_else(|error| Err(ProviderError::Defect(Detail::new(error))))
            }
            Behaviour::Hang => pending().await,
            Behaviour::Hold => hold(lookup).await,
            Behaviour::Burn { ms, then } => {
                burn(Duration::from_millis(ms));
                perform(*then, lookup).await
            }
            Behaviour::Block => {
                lookup.state.hold();
                Ok(None)
            }
        }
    })
}

fn stored(lookup: &Lookup, bytes: &[u8]) -> Answer {
    lookup.passwords.parse(bytes).map(Some).map_err(|fault| ProviderError::Corrupt(Detail::new(fault)))
}

async fn wait(ms: u64, deadline: Deadline) -> Result<(), ProviderError> {
    let waited = timeout_at(deadline.at(), sleep(Duration::from_millis(ms))).await;
    waited.map_err(|_| ProviderError::TimedOut(SCRIPTED.into()))
}

async fn hold(lookup: Lookup) -> Answer {
    let (sender, released) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        lookup.state.hold();
        drop(lookup.work);
        // The caller may have left long ago.
        let _ = sender.send(());
    });
    match released.await {
        Ok(()) => Ok(None),
        Err(_) => Err(ProviderError::Defect("the holding thread is gone".into())),
    }
}

fn burn(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

const SCRIPTED: &str = "scripted";
