//! A connection that is made anew when it has ended.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::{Caller, Ending, Link, Question};

/// One of the connections of a run. Calls wait for a dial together; what a connection's end has cut is counted as cut.
#[derive(Debug)]
pub(crate) struct Line {
    caller: Caller,
    link: Mutex<Option<Arc<Link>>>,
}

impl Line {
    /// Opens so many.
    pub async fn open(caller: &Caller, count: usize) -> Result<Vec<Arc<Self>>, String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            let line = Self { caller: caller.clone(), link: Mutex::new(None) };
            line.current().await?;
            lines.push(Arc::new(line));
        }
        Ok(lines)
    }

    /// Asks on the connection there is, or on a new one.
    pub async fn ask(&self, question: &Question) -> Ending {
        match self.current().await {
            Ok(link) => link.ask(question).await,
            Err(error) => Ending::Cut(error),
        }
    }

    async fn current(&self) -> Result<Arc<Link>, String> {
        let mut link = self.link.lock().await;
        match &*link {
            Some(link) if link.ended().is_none() => Ok(Arc::clone(link)),
            _ => Ok(Arc::clone(link.insert(Arc::new(Link::open(&self.caller).await?)))),
        }
    }
}
