//! A store in memory that can do everything a store can, and a provider on it that can be wrong in one chosen way.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Store, Subject};
use credgate_provider::{
    BoxFuture, Deadline, NodeId, Number, Password, PasswordRule, Provider, ProviderError, Site, Slot, parse_enabled,
};
use tokio::{
    sync::{Semaphore, oneshot, watch},
    time::timeout_at,
};

/// What the provider does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Nothing,
    AnotherRow,
    CachesAnswers,
    CheckAlwaysOk,
    CheckWaits,
    CorruptBeforeDisabled,
    DropsSlotAtOnce,
    DropsSlotWithCaller,
    EmptyIsUsable,
    FirstEnabledRow,
    FirstOfTwo,
    HangsInClose,
    IgnoresCase,
    IgnoresDeadline,
    KeepsSlot,
    NoneForCorrupt,
    NoneInOutage,
    NullIsEnabled,
    NumberPerNode,
    NumbersForIds,
    PanicsOnUnknown,
    PatternsForIds,
    SameRowsAreOne,
    ServesDisabled,
    ShowsPasswords,
    StaysDown,
    TakesAnyPassword,
    TrimsIds,
    TrimsPasswords,
}

pub struct Memory(pub Wrong);

impl Subject for Memory {
    fn name(&self) -> String {
        format!("memory, wrong in {:?}", self.0)
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        let inner = Inner {
            wrong: self.0,
            rows: Mutex::new(rows.to_vec()),
            first_rows: rows.to_vec(),
            passwords: site.passwords,
            disturbance: watch::Sender::new(None),
            was_down: Mutex::new(false),
            running: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
            lookups: Semaphore::new(SLOTS),
        };
        Box::pin(async { Made::Open(Box::new(MemoryStore(Arc::new(inner)))) })
    }
}

const SLOTS: usize = 8;

struct MemoryStore(Arc<Inner>);

struct Inner {
    wrong: Wrong,
    rows: Mutex<Vec<Row>>,
    first_rows: Vec<Row>,
    passwords: PasswordRule,
    disturbance: watch::Sender<Option<Disturbance>>,
    was_down: Mutex<bool>,
    running: AtomicUsize,
    asked: AtomicBool,
    lookups: Semaphore,
}

impl Store for MemoryStore {
    fn provider(&self) -> &dyn Provider {
        self
    }

    fn slots(&self) -> usize {
        SLOTS
    }

    fn change<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        *self.0.rows.lock().unwrap() = rows.to_vec();
        Box::pin(async { Ok(()) })
    }

    fn disturb(&self, how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        self.0.disturbance.send_replace(Some(how));
        Box::pin(async { Ok(()) })
    }

    fn heal(&self) -> BoxFuture<'_, ()> {
        self.0.disturbance.send_replace(None);
        Box::pin(async {})
    }

    fn running(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { Some(self.0.running.load(Ordering::SeqCst)) })
    }
}

impl Provider for MemoryStore {
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        Box::pin(async move {
            let wrong = self.0.wrong;
            let (mut with_caller, mut with_work) = (None, None);
            match wrong {
                Wrong::DropsSlotAtOnce => drop(slot),
                Wrong::DropsSlotWithCaller => with_caller = Some(slot),
                Wrong::KeepsSlot => std::mem::forget(slot),
                _ => with_work = Some(slot),
            }
            let (answer, answered) = oneshot::channel();
            let (inner, node) = (Arc::clone(&self.0), node.as_str().to_owned());
            tokio::spawn(async move {
                inner.asked.store(true, Ordering::Relaxed);
                inner.running.fetch_add(1, Ordering::SeqCst);
                let found = inner.work(&node).await;
                inner.running.fetch_sub(1, Ordering::SeqCst);
                drop(with_work);
                let _ = answer.send(found);
            });
            let end = if wrong == Wrong::IgnoresDeadline { deadline.at() + LONG } else { deadline.at() };
            let answered = timeout_at(end, answered).await;
            drop(with_caller);
            match answered {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => panic!("the work panicked"),
                Err(_) if wrong == Wrong::NoneInOutage => Ok(None),
                Err(_) => Err(ProviderError::TimedOut("no answer".into())),
            }
        })
    }

    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(async move {
            let down = matches!(*self.0.disturbance.borrow(), Some(Disturbance::Refusing | Disturbance::Silent));
            match self.0.wrong {
                Wrong::CheckAlwaysOk => Ok(()),
                Wrong::CheckWaits => match timeout_at(deadline.at(), self.0.lookups.acquire()).await {
                    Ok(_) if !down => Ok(()),
                    _ => Err(ProviderError::TimedOut("no place".into())),
                },
                _ if down => Err(ProviderError::Unavailable("down".into())),
                _ => Ok(()),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let hangs = self.0.wrong == Wrong::HangsInClose;
        Box::pin(async move {
            if hangs {
                std::future::pending().await
            }
        })
    }

    fn summary(&self) -> String {
        format!("{} nodes", self.0.rows.lock().unwrap().len())
    }

    fn numbers(&self) -> Vec<Number> {
        let number = Number::gauge("lookups", "Lookups so far", 0);
        let asked = self.0.wrong == Wrong::NumberPerNode && self.0.asked.load(Ordering::Relaxed);
        vec![number; 1 + usize::from(asked)]
    }
}

const LONG: std::time::Duration = std::time::Duration::from_secs(20);

impl Inner {
    async fn work(&self, node: &str) -> Result<Option<Password>, ProviderError> {
        let _place = self.lookups.acquire().await.unwrap();
        let mut disturbance = self.disturbance.subscribe();
        let down = |now: &Option<Disturbance>| *now == Some(Disturbance::Refusing);
        if disturbance.borrow().is_some() {
            *self.was_down.lock().unwrap() = true;
        }
        if down(&disturbance.borrow()) || self.wrong == Wrong::StaysDown && *self.was_down.lock().unwrap() {
            return match self.wrong {
                Wrong::NoneInOutage => Ok(None),
                _ => Err(ProviderError::Unavailable("down".into())),
            };
        }
        let _ = disturbance.wait_for(Option::is_none).await;
        self.find(node)
    }

    fn find(&self, node: &str) -> Result<Option<Password>, ProviderError> {
        let corrupt = |text: &str| Err(ProviderError::Corrupt(text.into()));
        let mut rows = match self.wrong {
            Wrong::CachesAnswers => self.first_rows.clone(),
            _ => self.rows.lock().unwrap().clone(),
        };
        rows.retain(|row| self.same(&row.node_id, node));
        match self.wrong {
            Wrong::FirstOfTwo => rows.truncate(1),
            Wrong::FirstEnabledRow if rows.len() > 1 => rows.retain(|row| row.enabled.as_deref() != Some("false")),
            Wrong::SameRowsAreOne => rows.dedup(),
            Wrong::AnotherRow if rows.is_empty() => rows.extend(self.rows.lock().unwrap().first().cloned()),
            _ => {}
        }
        let row = match rows.as_slice() {
            [] if self.wrong == Wrong::PanicsOnUnknown => panic!("no such node"),
            [] => return Ok(None),
            [row] => row,
            _ => return corrupt("two rows"),
        };
        let enabled = match row.enabled.as_deref().map(parse_enabled) {
            None if self.wrong == Wrong::NullIsEnabled => true,
            Some(Some(enabled)) => enabled,
            _ => return corrupt("enabled is neither"),
        };
        let stored = row.password.clone().unwrap_or_default();
        let password = match self.wrong {
            Wrong::TrimsPasswords => self.passwords.parse(stored.trim_ascii()),
            Wrong::EmptyIsUsable if stored.is_empty() => self.passwords.parse(b"default"),
            // As a provider would that mends what it is given.
            Wrong::TakesAnyPassword => {
                let text = String::from_utf8_lossy(&stored)
                    .chars()
                    .filter(char::is_ascii_graphic)
                    .take(79)
                    .collect::<String>();
                self.passwords.parse(text.as_bytes())
            }
            _ => self.passwords.parse(&stored),
        };
        match password {
            _ if !enabled && !matches!(self.wrong, Wrong::ServesDisabled | Wrong::CorruptBeforeDisabled) => Ok(None),
            Ok(_) if !enabled && self.wrong == Wrong::CorruptBeforeDisabled => Ok(None),
            Ok(password) => Ok(Some(password)),
            Err(_) if self.wrong == Wrong::NoneForCorrupt => Ok(None),
            Err(_) if self.wrong == Wrong::ShowsPasswords => corrupt(&String::from_utf8_lossy(&stored)),
            Err(fault) => corrupt(&fault.to_string()),
        }
    }

    fn same(&self, stored: &str, asked: &str) -> bool {
        match self.wrong {
            Wrong::IgnoresCase => stored.eq_ignore_ascii_case(asked),
            Wrong::TrimsIds => stored.trim() == asked,
            Wrong::NumbersForIds => match (stored.parse::<f64>(), asked.parse::<f64>()) {
                (Ok(stored), Ok(asked)) => stored == asked,
                _ => stored == asked,
            },
            Wrong::PatternsForIds => {
                stored.len() == asked.len()
                    && stored.bytes().zip(asked.bytes()).all(|(stored, asked)| asked == b'_' || stored == asked)
            }
            _ => stored == asked,
        }
    }
}
