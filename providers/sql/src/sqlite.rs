//! SQLite: one file, read in this process.
//!
//! Decides which file answers. A file that was replaced by a rename keeps answering from its old content until the next
//! check notices it; from then on lookups are refused until the new file has been opened and found good. A file that is
//! gone is refused as well: an unlinked file would answer for ever, and nobody could change it.

mod connection;
mod fault;
mod file;
mod import;
mod pool;
mod query;
mod writer;

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use credgate_provider::{Detail, NodeId, Password, PasswordRule, ProviderError};
use tokio::{
    sync::{Mutex, Semaphore, SemaphorePermit},
    time::timeout_at,
};

pub(crate) use writer::Writer;

use crate::{
    backend::{Refusal, Usage},
    settings::Settings,
    task::{Answer, Bound},
    vacancy::Vacancy,
};
use connection::{Access, Connection};
use fault::Fault;
use file::{FileId, log_of};
use pool::Pool;

const CLOSED: &str = "the database was closed";

/// An open SQLite database.
pub(crate) struct Backend {
    access: Arc<Access>,
    configured: Option<Arc<str>>,
    permits: Semaphore,
    max_connections: usize,
    current: RwLock<Current>,
    checker: Mutex<Checker>,
    vacancy: Vacancy,
    journal: String,
}

/// What lookups are answered from.
enum Current {
    Open(Arc<Pool>),
    /// The file was seen to be gone or another one.
    Lost(Detail),
}

/// What belongs to the checks alone.
struct Checker {
    connection: Option<Connection>,
    /// The file that was opened last, and the `-wal` file that was seen beside it.
    file: FileId,
    log: Option<FileId>,
}

impl Backend {
    pub(crate) async fn open(path: &Path, settings: &Settings, bound: Bound) -> Result<Self, Refusal> {
        let access = Arc::new(Access::new(path, settings.lookup_timeout));
        let configured = settings.query.as_deref().map(Arc::from);
        let vacancy = Vacancy::of(settings);
        let (pool, mut connection) = Pool::open(&access, configured.as_ref(), &vacancy, bound).await?;
        let journal = connection.journal_mode(bound).await?;
        let checker = Checker { connection: Some(connection), file: pool.file, log: log_of(path).await };
        Ok(Self {
            access,
            configured,
            permits: Semaphore::new(settings.max_connections),
            max_connections: settings.max_connections,
            current: RwLock::new(Current::Open(Arc::new(pool))),
            checker: Mutex::new(checker),
            vacancy,
            journal,
        })
    }

    pub(crate) async fn lookup(
        &self,
        node: NodeId,
        rule: PasswordRule,
        bound: Bound,
        answer: Answer<Option<Password>>,
    ) {
        let (pool, connection, _permit) = match self.lease(bound).await {
            Ok(leased) => leased,
            Err(error) => return answer.give(Err(error)),
        };
        let mut connection = connection;
        match connection.rows(&pool.query, &node, bound).await {
            Ok(matches) => {
                let retired = pool.give_back(connection);
                answer.give(self.vacancy.judge(matches, rule));
                close(retired).await;
            }
            Err(fault) => {
                answer.give(Err(fault.into()));
                connection.close().await;
            }
        }
    }

    /// A connection, and the permission to use one.
    async fn lease(&self, bound: Bound) -> Result<(Arc<Pool>, Connection, SemaphorePermit<'_>), ProviderError> {
        let permit = match timeout_at(bound.work, self.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(ProviderError::Unavailable(CLOSED.into())),
            Err(_) => {
                let number = self.max_connections;
                return Err(ProviderError::TimedOut(
                    format!("all {number} connections stayed busy (provider.sql.max_connections)").into(),
                ));
            }
        };
        let pool = match &*self.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Open(pool) => Arc::clone(pool),
            Current::Lost(why) => return Err(ProviderError::Unavailable(why.clone())),
        };
        let connection = pool.take().await?;
        Ok((pool, connection, permit))
    }

    pub(crate) async fn check(&self, bound: Bound, answer: Answer<()>) {
        match timeout_at(bound.work, self.checker.lock()).await {
            Ok(_) if self.permits.is_closed() => answer.give(Err(ProviderError::Unavailable(CLOSED.into()))),
            Ok(mut checker) => answer.give(self.look(&mut checker, bound).await),
            Err(_) => answer.give(Err(ProviderError::TimedOut("the check before this one still runs".into()))),
        }
    }

    async fn look(&self, checker: &mut Checker, bound: Bound) -> Result<(), ProviderError> {
        let path = self.access.path();
        let found = match FileId::of(path).await {
            Ok(found) => found,
            Err(error) => {
                let why = Detail::from(file::missing(path, &error));
                if error.kind() != std::io::ErrorKind::PermissionDenied {
                    self.lose(checker, why.clone()).await;
                }
                return Err(ProviderError::Unavailable(why));
            }
        };
        if let Some(why) = file::unreadable(path) {
            return Err(ProviderError::Unavailable(why.into()));
        }
        match self.pool().filter(|pool| pool.file == found) {
            Some(pool) => self.probe(checker, &pool, bound).await,
            None => self.reopen(checker, found, bound).await,
        }
    }

    /// Runs on a connection that no lookup ever uses.
    async fn probe(&self, checker: &mut Checker, pool: &Pool, bound: Bound) -> Result<(), ProviderError> {
        checker.log = log_of(self.access.path()).await;
        let mut connection = match checker.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.access).await?,
        };
        let proof = pool.query.prove(self.configured.is_none(), &mut connection, &self.access, bound).await;
        match proof {
            Ok(_) => checker.connection = Some(connection),
            Err(_) => connection.close().await,
        }
        Ok(self.vacancy.found(proof?).map_err(Fault::Refused)?)
    }

    /// The file at the path is not the one in use.
    async fn reopen(&self, checker: &mut Checker, found: FileId, bound: Bound) -> Result<(), ProviderError> {
        let path = self.access.path();
        let shown = path.display();
        self.lose(checker, format!("{shown} was replaced, and the new file has not been found good yet").into()).await;
        if found != checker.file && checker.log.is_some() && checker.log == log_of(path).await {
            // SQLite would play the old file's log over the new file.
            return Err(ProviderError::Unavailable(
                format!("{shown} was replaced, but {shown}-wal and -shm are still those of the old file: delete both")
                    .into(),
            ));
        }
        let (pool, connection) = Pool::open(&self.access, self.configured.as_ref(), &self.vacancy, bound).await?;
        *checker = Checker { connection: Some(connection), file: pool.file, log: log_of(path).await };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current::Open(Arc::new(pool));
        tracing::info!("{shown} was replaced or came back, and has been opened anew");
        Ok(())
    }

    /// From now on lookups are refused.
    async fn lose(&self, checker: &mut Checker, why: Detail) {
        let pool = self.pool();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current::Lost(why);
        if let Some(pool) = pool {
            pool.retire().await;
        }
        close(checker.connection.take()).await;
    }

    fn pool(&self) -> Option<Arc<Pool>> {
        match &*self.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Open(pool) => Some(Arc::clone(pool)),
            Current::Lost(_) => None,
        }
    }

    /// Statements that still run close their own connections, at their bound at the latest.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let mut checker = self.checker.lock().await;
        self.lose(&mut checker, CLOSED.into()).await;
    }

    pub(crate) fn summary(&self) -> String {
        let what = if self.configured.is_some() { "own query" } else { "credgate's schema" };
        format!("SQLite {}, {what}, journal mode {}", self.access.path().display(), self.journal)
    }

    pub(crate) fn usage(&self) -> Usage {
        let most = self.max_connections;
        let idle = self.pool().map_or(0, |pool| pool.idle());
        Usage { most, busy: most - self.permits.available_permits().min(most), idle }
    }
}

async fn close(connection: Option<Connection>) {
    if let Some(connection) = connection {
        connection.close().await;
    }
}
