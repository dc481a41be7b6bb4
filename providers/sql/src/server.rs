//! A database server, PostgreSQL or MySQL: what both have in common.
//!
//! Decides how a lookup gets a connection and what becomes of it. An idle connection is used as it is while it is warm,
//! and asked first when it has rested for a second. One that proves dead makes every other idle one suspect: they are all
//! closed, and the lookup is tried once more on a fresh connection, inside the same deadline. What does not answer although
//! the server's own timeout has passed is closed and never used again. The check has a connection of its own.

mod fault;
mod gate;
mod link;
mod pool;

use std::{pin::pin, sync::Arc, time::Duration};

use credgate_provider::{NodeId, Password, PasswordRule, ProviderError, Slot};
use tokio::{
    sync::{Mutex, Semaphore, SemaphorePermit},
    task::JoinSet,
    time::{self, timeout_at},
};

pub(crate) use fault::{Fault, unreachable};
pub(crate) use link::{ANYBODY, Link, Query, unsuitable};

use crate::{
    backend::{Refusal, Usage},
    record::Matches,
    settings::Settings,
    task::{Answer, Bound, ask},
    url::Server,
    vacancy::Vacancy,
};
use gate::Gate;
use pool::{Pool, Pooled};

/// An open database of one dialect.
pub(crate) struct Backend<L: Link> {
    access: Arc<L::Access>,
    query: Query,
    configured: bool,
    permits: Semaphore,
    max_connections: usize,
    statement_timeout: Duration,
    connect_timeout: Duration,
    pool: Pool<L>,
    gate: Gate,
    checker: Mutex<Option<Pooled<L>>>,
    vacancy: Vacancy,
    version: String,
}

const CLOSED: &str = "the database was closed";

impl<L: Link> Backend<L> {
    pub(crate) async fn open(server: &Server, settings: &Settings, bound: Bound) -> Result<Self, Refusal> {
        let statement_timeout = statement_timeout(settings.lookup_timeout);
        let access = Arc::new(L::access(server, Some(statement_timeout)));
        let pool = Pool::new(settings.max_connection_age);
        let vacancy = Vacancy::of(settings);
        let (link, query, version) = within(bound, async {
            let mut link = L::connect(&access).await?;
            let query = link.settle(settings.query.as_deref()).await?;
            let any = link.prove(&query, settings.query.is_none()).await?;
            vacancy.found(any).map_err(Fault::Refused)?;
            let version = link.version().await?;
            Ok((link, query, version))
        })
        .await?;
        Ok(Self {
            access,
            query,
            configured: settings.query.is_some(),
            permits: Semaphore::new(settings.max_connections),
            max_connections: settings.max_connections,
            statement_timeout,
            connect_timeout: settings.lookup_timeout / 2,
            checker: Mutex::new(Some(pool.adopt(link))),
            pool,
            gate: Gate::new(),
            vacancy,
            version,
        })
    }

    /// The statement is never torn off in the middle: what is left of it ends in a task of its own.
    pub(crate) async fn lookup(
        self: &Arc<Self>,
        node: &NodeId,
        rule: PasswordRule,
        bound: Bound,
        slot: Slot,
    ) -> Result<Option<Password>, ProviderError> {
        let (backend, node) = (Arc::clone(self), node.clone());
        ask(|answer| async move {
            let mut waiting = Some(answer);
            let rows = backend.rows(&node, bound, &mut waiting).await;
            if let Some(answer) = waiting {
                answer.give(rows.and_then(|matches| backend.vacancy.judge(matches, rule)));
            }
            drop(slot);
        })
        .await
    }

    async fn permit(&self, bound: Bound) -> Result<SemaphorePermit<'_>, ProviderError> {
        match timeout_at(bound.work, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(ProviderError::Unavailable(CLOSED.into())),
            Err(_) => {
                let number = self.max_connections;
                let text = format!("all {number} connections stayed busy (provider.sql.max_connections)");
                Err(ProviderError::TimedOut(text.into()))
            }
        }
    }

    async fn rows(
        &self,
        node: &NodeId,
        bound: Bound,
        waiting: &mut Option<Answer<Option<Password>>>,
    ) -> Result<Matches, ProviderError> {
        let _permit = self.permit(bound).await?;
        if let Some(link) = self.pool.take() {
            match self.run(link, node, bound, waiting).await {
                // Only reads are repeated, and only once.
                Err(Fault::Gone(_)) if waiting.is_some() => {}
                other => return other.map_err(ProviderError::from),
            }
        }
        // Seldom needed, and large: every lookup would carry it.
        let link = Box::pin(self.connect(bound)).await?;
        Ok(self.run(link, node, bound, waiting).await?)
    }

    /// One run of the query. The connection goes back if the statement ended well, and is closed otherwise.
    ///
    /// The caller is answered at its own bound. The statement may run on in the server then, until the server ends it:
    /// connection and slot are kept until that is heard, or can be heard no more.
    async fn run(
        &self,
        mut link: Pooled<L>,
        node: &NodeId,
        bound: Bound,
        waiting: &mut Option<Answer<Option<Password>>>,
    ) -> Result<Matches, Fault> {
        if link.has_rested() {
            // A path that was cut silently gives no sign: a quarter of what is left must be enough to learn that.
            let left = bound.work.saturating_duration_since(time::Instant::now());
            if !matches!(time::timeout(left / 4, link.ping()).await, Ok(Ok(()))) {
                self.pool.suspect();
                return Err(Fault::gone("an idle connection was dead"));
            }
        }
        let limit =
            bound.work.max(time::Instant::now() + self.statement_timeout + Bound::margin(self.statement_timeout));
        let ended = {
            let mut rows = pin!(link.rows(&self.query, node));
            match timeout_at(bound.work, &mut rows).await {
                Ok(ended) => Ok(ended),
                Err(_) => {
                    if let Some(answer) = waiting.take() {
                        answer.give(Err(Fault::Silent.into()));
                    }
                    timeout_at(limit, rows).await
                }
            }
        };
        let fault = match ended {
            Ok(Ok(matches)) => {
                match matches.is_whole() {
                    true => self.pool.give_back(link),
                    // Rows are still on their way, nobody knows how many.
                    false => drop(link),
                }
                return Ok(matches);
            }
            Ok(Err(fault)) => fault,
            Err(_) => {
                // The server would have ended the statement, could it be heard.
                self.pool.suspect();
                return Err(Fault::Silent);
            }
        };
        match &fault {
            Fault::Gone(_) => self.pool.suspect(),
            _ => link.close_soon(),
        }
        Err(fault)
    }

    /// A fresh connection, or one that came back meanwhile. Attempts that hang are given up at half of `lookup.timeout`
    /// and made again: a name or an address may lead elsewhere by then.
    async fn connect(&self, bound: Bound) -> Result<Pooled<L>, ProviderError> {
        let Ok(turn) = timeout_at(bound.work, self.gate.turn()).await else {
            return Err(ProviderError::TimedOut(
                "no new connection could be opened in time: others are waiting".into(),
            ));
        };
        if let Some(link) = self.pool.take() {
            return Ok(link);
        }
        if timeout_at(bound.work, turn.pause()).await.is_err() {
            return Err(Fault::Unanswered.into());
        }
        loop {
            let end = bound.work.min(time::Instant::now() + self.connect_timeout);
            match timeout_at(end, self.log_in()).await {
                Ok(Ok(link)) => {
                    turn.succeeded();
                    return Ok(self.pool.adopt(link));
                }
                Ok(Err(fault)) => {
                    turn.failed();
                    return Err(fault.into());
                }
                Err(_) if end < bound.work => {}
                Err(_) => {
                    turn.failed();
                    return Err(Fault::Unanswered.into());
                }
            }
        }
    }

    /// In a task of its own: a login computes for milliseconds (SCRAM), and the calls of a registrar's connection share one.
    async fn log_in(&self) -> Result<L, Fault> {
        let access = Arc::clone(&self.access);
        // Given up when nobody waits for it any more.
        let mut login = JoinSet::new();
        login.spawn(async move { L::connect(&access).await });
        match login.join_next().await {
            Some(Ok(done)) => done,
            _ => Err(Fault::gone("the login was given up")),
        }
    }

    pub(crate) async fn check(&self, bound: Bound) -> Result<(), ProviderError> {
        match timeout_at(bound.work, self.checker.lock()).await {
            Ok(_) if self.permits.is_closed() => Err(ProviderError::Unavailable(CLOSED.into())),
            Ok(mut checker) => Ok(within(bound, self.look(&mut checker)).await?),
            Err(_) => Err(ProviderError::TimedOut("the check before this one still runs".into())),
        }
    }

    /// Whoever stops waiting for it leaves no connection in `checker`.
    async fn look(&self, checker: &mut Option<Pooled<L>>) -> Result<(), Fault> {
        self.pool.trim();
        if let Some(mut link) = checker.take().filter(|link| self.pool.is_good(link)) {
            match link.prove(&self.query, !self.configured).await {
                Ok(any) => {
                    *checker = Some(link);
                    return self.vacancy.found(any).map_err(Fault::Refused);
                }
                Err(Fault::Gone(_)) => self.pool.suspect(),
                Err(fault) => return Err(fault),
            }
        }
        let mut link = self.pool.adopt(L::connect(&self.access).await?);
        let any = link.prove(&self.query, !self.configured).await?;
        *checker = Some(link);
        self.vacancy.found(any).map_err(Fault::Refused)
    }

    /// Statements that still run close their own connections, at their bound at the latest.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let idle = self.pool.retire();
        // A check that hangs must not hold this up.
        let checker = self.checker.try_lock().ok().and_then(|mut checker| checker.take());
        let farewells = idle.into_iter().chain(checker).map(Pooled::close);
        // Those that cannot be told are closed without a word.
        let _ = time::timeout(FAREWELL, futures::future::join_all(farewells)).await;
    }

    pub(crate) fn summary(&self) -> String {
        let what = if self.configured { "own query" } else { "credgate's schema" };
        format!("{}, {what}", self.version)
    }

    pub(crate) fn usage(&self) -> Usage {
        let most = self.max_connections;
        Usage { most, busy: most - self.permits.available_permits().min(most), idle: self.pool.idle() }
    }
}

/// How long all connections together may take to say goodbye: less than `shutdown.close_timeout`.
const FAREWELL: Duration = Duration::from_millis(500);

/// What the server is told: short enough that its own word about a slow statement arrives before the bound of the work.
fn statement_timeout(lookup_timeout: Duration) -> Duration {
    (lookup_timeout - 2 * Bound::margin(lookup_timeout)).max(Duration::from_millis(1))
}

async fn within<T>(bound: Bound, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout_at(bound.work, work).await.unwrap_or(Err(Fault::Unanswered))
}
