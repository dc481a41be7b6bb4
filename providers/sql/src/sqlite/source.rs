//! One file that has been found good, and the statement that lookups run on it: where connections come from. Knows nothing
//! of who uses them. A connection that finds another file than the first one did is refused: two files must not answer at
//! the same time.

use std::{path::Path, sync::Arc};

use super::{
    connection::{Access, Connection},
    fault::Fault,
    file::{self, FileId},
    query::Query,
};
use crate::{task::Bound, vacancy::Vacancy};

pub(crate) struct Source {
    pub(crate) file: FileId,
    pub(crate) query: Query,
    access: Arc<Access>,
}

impl Source {
    /// Opens the file that stands at the path now and makes sure that `configured`, or credgate's own statement, runs on
    /// it and has somebody to find. Returns the connection that was used for it as well: it becomes that of the checks.
    pub(crate) fn open(
        access: &Arc<Access>,
        configured: Option<&str>,
        vacancy: &Vacancy,
        bound: Bound,
    ) -> Result<(Self, Connection), Fault> {
        let file = identify(access.path())?;
        let connection = Connection::open(access)?;
        let query = Query::settle(configured, &connection, bound)?;
        let any = query.prove(configured.is_none(), &connection, access, bound)?;
        vacancy.found(any).map_err(Fault::Refused)?;
        same_file(access.path(), file)?;
        Ok((Self { file, query, access: Arc::clone(access) }, connection))
    }

    /// One connection more.
    pub(crate) fn connect(&self) -> Result<Connection, Fault> {
        let connection = Connection::open(&self.access)?;
        // The check is asked for by a lookup that is refused, and opens the new file.
        same_file(self.access.path(), self.file)?;
        Ok(connection)
    }
}

/// Which file stands at the path.
fn identify(path: &Path) -> Result<FileId, Fault> {
    FileId::of(path).map_err(|error| Fault::Refused(file::missing(path, &error)))
}

fn same_file(path: &Path, expected: FileId) -> Result<(), Fault> {
    if identify(path)? == expected {
        return Ok(());
    }
    Err(Fault::Refused(format!("{} has been replaced by another file", path.display())))
}
