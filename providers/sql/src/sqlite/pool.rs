//! The connections to one file, and the statement they run. Decides nothing about when a connection is used: it hands
//! out idle ones and takes them back, until it is retired.
//!
//! sqlx has a pool, but its connections have no place for the bound at which theirs must stop, and a connection whose
//! statement was given up goes back to it alive. This one is a stack: what comes back is whole, and the rest is closed.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    connection::{Access, Connection},
    fault::Fault,
    file::{self, FileId},
    query::Query,
};
use crate::{task::Bound, vacancy::Vacancy};

pub(crate) struct Pool {
    pub(crate) file: FileId,
    pub(crate) query: Query,
    access: Arc<Access>,
    /// `None` once retired.
    idle: Mutex<Option<Vec<Connection>>>,
}

impl Pool {
    /// Opens the file that stands at the path now and makes sure that `configured`, or credgate's own statement, runs on
    /// it and has somebody to find. Returns the connection that was used for it as well: it becomes that of the checks.
    pub(crate) async fn open(
        access: &Arc<Access>,
        configured: Option<&Arc<str>>,
        vacancy: &Vacancy,
        bound: Bound,
    ) -> Result<(Self, Connection), Fault> {
        let file = identify(access.path()).await?;
        let mut connection = Connection::open(access).await?;
        let query = Query::settle(configured, &mut connection, bound).await?;
        let any = query.prove(configured.is_none(), &mut connection, access, bound).await?;
        vacancy.found(any).map_err(Fault::Refused)?;
        same_file(access.path(), file).await?;
        Ok((Self { file, query, access: Arc::clone(access), idle: Mutex::new(Some(Vec::new())) }, connection))
    }

    /// A connection that nobody uses, or a new one.
    pub(crate) async fn take(&self) -> Result<Connection, Fault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(Vec::pop);
        match idle {
            Some(connection) => Ok(connection),
            None => {
                let connection = Connection::open(&self.access).await?;
                // Two files must not answer at the same time: the check is asked for, and opens the new one.
                same_file(self.access.path(), self.file).await?;
                Ok(connection)
            }
        }
    }

    /// Takes back a connection that is as good as new; returns it when the pool is retired.
    pub(crate) fn give_back(&self, connection: Connection) -> Option<Connection> {
        match self.idle.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(idle) => {
                idle.push(connection);
                None
            }
            None => Some(connection),
        }
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, Vec::len)
    }

    /// Closes what is idle now and whatever comes back later.
    pub(crate) async fn retire(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        for connection in idle.into_iter().flatten() {
            connection.close().await;
        }
    }
}

/// Which file stands at the path.
async fn identify(path: &Path) -> Result<FileId, Fault> {
    FileId::of(path).await.map_err(|error| Fault::Refused(file::missing(path, &error)))
}

async fn same_file(path: &Path, expected: FileId) -> Result<(), Fault> {
    if identify(path).await? == expected {
        return Ok(());
    }
    Err(Fault::Refused(format!("{} has been replaced by another file", path.display())))
}
