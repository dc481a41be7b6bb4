//! SQLite: one file, read in this process.
//!
//! Decides which file answers. A file that was replaced by a rename keeps answering from its old content until the next
//! check notices it; from then on lookups are refused until the new file has been opened and found good. A file that is
//! gone is refused as well: an unlinked file would answer for ever, and nobody could change it.
//!
//! SQLite blocks whoever asks it. Lookups go to threads of their own ([`readers`]); opening, checks and the farewell run on
//! those that the runtime keeps for such work.

mod connection;
mod fault;
mod file;
mod import;
mod query;
mod readers;
mod reading;
mod source;
mod writer;

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use credgate_provider::{Detail, NodeId, Password, PasswordRule, ProviderError, Slot};
use tokio::{
    sync::Mutex,
    task::{JoinError, spawn_blocking},
    time::timeout_at,
};

pub(crate) use writer::Writer;

use crate::{
    backend::{Refusal, Usage},
    settings::Settings,
    task::Bound,
    vacancy::Vacancy,
};
use connection::{Access, Connection};
use fault::Fault;
use file::{FileId, log_of};
use readers::{Question, Readers};
use source::Source;

const CLOSED: &str = "the database was closed";

/// An open SQLite database.
pub(crate) struct Backend {
    access: Arc<Access>,
    configured: Option<String>,
    max_connections: usize,
    current: RwLock<Current>,
    checker: Arc<Mutex<Checker>>,
    vacancy: Arc<Vacancy>,
    journal: String,
}

/// What lookups are answered from.
enum Current {
    Open(Arc<Readers>),
    /// The file was seen to be gone or another one.
    Lost(Detail),
}

/// What belongs to the checks alone.
struct Checker {
    connection: Option<Connection>,
    /// The file that was opened last, and the `-wal` file that was seen beside it.
    file: FileId,
    log: Option<FileId>,
    closed: bool,
}

impl Backend {
    pub(crate) async fn open(path: &Path, settings: &Settings, bound: Bound) -> Result<Self, Refusal> {
        let (path, settings) = (path.to_owned(), settings.clone());
        let opened = spawn_blocking(move || Self::open_now(&path, &settings, bound)).await;
        opened.unwrap_or_else(|error| Err(Refusal::Store(broken(&error))))
    }

    fn open_now(path: &Path, settings: &Settings, bound: Bound) -> Result<Self, Refusal> {
        let access = Arc::new(Access::new(path, settings.lookup_timeout));
        let vacancy = Arc::new(Vacancy::of(settings));
        let (source, connection) = Source::open(&access, settings.query.as_deref(), &vacancy, bound)?;
        let journal = connection.journal_mode(bound)?;
        let checker = Checker { connection: Some(connection), file: source.file, log: log_of(path), closed: false };
        let readers = Readers::new(source, Arc::clone(&vacancy), settings.max_connections);
        Ok(Self {
            access,
            configured: settings.query.clone(),
            max_connections: settings.max_connections,
            current: RwLock::new(Current::Open(Arc::new(readers))),
            checker: Arc::new(Mutex::new(checker)),
            vacancy,
            journal,
        })
    }

    pub(crate) async fn lookup(
        &self,
        node: &NodeId,
        rule: PasswordRule,
        bound: Bound,
        slot: Slot,
    ) -> Result<Option<Password>, ProviderError> {
        let readers = match &*self.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Open(readers) => Arc::clone(readers),
            Current::Lost(why) => return Err(ProviderError::Unavailable(why.clone())),
        };
        readers.lookup(Question { node: node.clone(), rule, bound, slot }).await
    }

    /// Ends by itself, whoever has stopped waiting for it.
    pub(crate) async fn check(self: &Arc<Self>, bound: Bound) -> Result<(), ProviderError> {
        let Ok(mut checker) = timeout_at(bound.work, Arc::clone(&self.checker).lock_owned()).await else {
            return Err(ProviderError::TimedOut("the check before this one still runs".into()));
        };
        let backend = Arc::clone(self);
        let looked = spawn_blocking(move || backend.look(&mut checker, bound)).await;
        looked.unwrap_or_else(|error| Err(ProviderError::Defect(broken(&error))))
    }

    fn look(&self, checker: &mut Checker, bound: Bound) -> Result<(), ProviderError> {
        if checker.closed {
            return Err(ProviderError::Unavailable(CLOSED.into()));
        }
        let path = self.access.path();
        let found = match FileId::of(path) {
            Ok(found) => found,
            Err(error) => {
                let why = Detail::from(file::missing(path, &error));
                if error.kind() != std::io::ErrorKind::PermissionDenied {
                    self.lose(checker, why.clone());
                }
                return Err(ProviderError::Unavailable(why));
            }
        };
        if let Some(why) = file::unreadable(path) {
            return Err(ProviderError::Unavailable(why.into()));
        }
        match self.readers().filter(|readers| readers.source.file == found) {
            Some(readers) => self.probe(checker, &readers.source, bound),
            None => self.reopen(checker, found, bound),
        }
    }

    /// Runs on a connection that no lookup ever uses.
    fn probe(&self, checker: &mut Checker, source: &Source, bound: Bound) -> Result<(), ProviderError> {
        checker.log = log_of(self.access.path());
        // Closed again unless all goes well.
        let connection = match checker.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.access)?,
        };
        let any = source.query.prove(self.configured.is_none(), &connection, &self.access, bound)?;
        checker.connection = Some(connection);
        Ok(self.vacancy.found(any).map_err(Fault::Refused)?)
    }

    /// The file at the path is not the one in use.
    fn reopen(&self, checker: &mut Checker, found: FileId, bound: Bound) -> Result<(), ProviderError> {
        let path = self.access.path();
        let shown = path.display();
        self.lose(checker, format!("{shown} was replaced, and the new file has not been found good yet").into());
        if found != checker.file && checker.log.is_some() && checker.log == log_of(path) {
            // SQLite would play the old file's log over the new file.
            return Err(ProviderError::Unavailable(
                format!("{shown} was replaced, but {shown}-wal and -shm are still those of the old file: delete both")
                    .into(),
            ));
        }
        let (source, connection) = Source::open(&self.access, self.configured.as_deref(), &self.vacancy, bound)?;
        *checker = Checker { connection: Some(connection), file: source.file, log: log_of(path), closed: false };
        let readers = Readers::new(source, Arc::clone(&self.vacancy), self.max_connections);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current::Open(Arc::new(readers));
        tracing::info!("{shown} was replaced or came back, and has been opened anew");
        Ok(())
    }

    /// From now on lookups are refused. Returns when every connection that did nothing is closed.
    fn lose(&self, checker: &mut Checker, why: Detail) {
        let readers = self.readers();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current::Lost(why.clone());
        checker.connection = None;
        for thread in readers.iter().flat_map(|readers| readers.retire(why.clone())) {
            // However it ended, its connection is closed.
            let _ = thread.join();
        }
    }

    fn readers(&self) -> Option<Arc<Readers>> {
        match &*self.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Open(readers) => Some(Arc::clone(readers)),
            Current::Lost(_) => None,
        }
    }

    /// Statements that still run close their own connections, at their bound at the latest.
    pub(crate) async fn close(self: &Arc<Self>) {
        let mut checker = Arc::clone(&self.checker).lock_owned().await;
        checker.closed = true;
        let backend = Arc::clone(self);
        // Nothing is left to do where it could not be done.
        let _ = spawn_blocking(move || backend.lose(&mut checker, CLOSED.into())).await;
    }

    pub(crate) fn summary(&self) -> String {
        let what = if self.configured.is_some() { "own query" } else { "credgate's schema" };
        format!("SQLite {}, {what}, journal mode {}", self.access.path().display(), self.journal)
    }

    pub(crate) fn usage(&self) -> Usage {
        self.readers().map_or(Usage { most: self.max_connections, busy: 0, idle: 0 }, |readers| readers.usage())
    }
}

/// Readers that rest would rest for ever.
impl Drop for Backend {
    fn drop(&mut self) {
        if let Some(readers) = self.readers() {
            readers.retire(CLOSED.into());
        }
    }
}

fn broken(error: &JoinError) -> Detail {
    format!("work on the database was given up: {error}").into()
}
