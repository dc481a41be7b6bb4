//! Provider `folder`: the password of node 2000 is what the file `2000.password` holds; a file `2000.disabled` beside it
//! disables the node.
//!
//! Small, complete, and careful where it matters: a folder that is gone is an outage and not a thousand unknown nodes,
//! and a read that hangs (a network file system) keeps its slot although its caller has left.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use credgate_provider::{
    BoxFuture, Deadline, Kind, NodeId, OpenError, Password, PasswordRule, Prepared, Provider, ProviderError, Report,
    Site, Slot, settings::Section,
};
use tokio::{task::spawn_blocking, time::timeout_at};

/// The kind `folder`, with the settings `path` and `readers`.
#[derive(Clone, Copy, Debug)]
pub struct FolderKind;

#[derive(Clone, Debug)]
struct Folder {
    path: PathBuf,
    readers: usize,
    passwords: PasswordRule,
}

impl Kind for FolderKind {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn prepare(&self, settings: &Section<'_>, site: &Site, _: &Report) -> Option<Box<dyn Prepared>> {
        let path = settings.required_path("path");
        let readers = settings.within("readers", 16, 1..=256);
        settings.finish();
        Some(Box::new(Folder { path: path?, readers, passwords: site.passwords }))
    }
}

impl Prepared for Folder {
    fn slots(&self) -> usize {
        self.readers
    }

    fn open(self: Box<Self>, deadline: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>> {
        Box::pin(async move {
            match self.check(deadline).await {
                Ok(()) => Ok(self as Box<dyn Provider>),
                Err(error) => Err(OpenError::Unavailable(error.to_string().into())),
            }
        })
    }
}

impl Provider for Folder {
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        let (folder, passwords, node) = (self.path.clone(), self.passwords, node.clone());
        Box::pin(within(deadline, move || {
            let answer = read(&folder, &node, passwords);
            // Here the work has really ended, whether or not somebody still waits for it.
            drop(slot);
            answer
        }))
    }

    fn check(&self, deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        let folder = self.path.clone();
        Box::pin(within(deadline, move || is_there(&folder)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn summary(&self) -> String {
        "a folder with one file per node".into()
    }
}

/// Runs blocking work on a thread that may block, and waits for it no longer than the deadline.
async fn within<T: Send + 'static>(
    deadline: Deadline,
    work: impl FnOnce() -> Result<T, ProviderError> + Send + 'static,
) -> Result<T, ProviderError> {
    match timeout_at(deadline.at(), spawn_blocking(work)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(ProviderError::Defect("the reading thread panicked".into())),
        Err(_) => Err(ProviderError::TimedOut("the file system did not answer in time".into())),
    }
}

/// A node ID has no slash (neither grammar allows one), so its file stands in the folder.
fn read(folder: &Path, node: &NodeId, passwords: PasswordRule) -> Result<Option<Password>, ProviderError> {
    let file = |ending: &str| folder.join(format!("{}.{ending}", node.as_str()));
    if file("disabled").try_exists().map_err(|error| unavailable(&error))? {
        return Ok(None);
    }
    match fs::read(file("password")) {
        Ok(stored) => {
            passwords.parse(&stored).map(Some).map_err(|fault| ProviderError::Corrupt(fault.to_string().into()))
        }
        // Either this node has no file, or nobody has: only the first means "no such node".
        Err(error) if error.kind() == ErrorKind::NotFound => is_there(folder).map(|()| None),
        Err(error) => Err(unavailable(&error)),
    }
}

fn is_there(folder: &Path) -> Result<(), ProviderError> {
    fs::read_dir(folder).map(drop).map_err(|error| unavailable(&error))
}

/// The kind of failure, not the path: node IDs stay out of logs.
fn unavailable(error: &io::Error) -> ProviderError {
    ProviderError::Unavailable(error.kind().to_string().into())
}
