//! What one reader reads from: its connection, and a view of the file that several lookups share.
//!
//! A statement by itself takes and gives back SQLite's locks and looks whether the file has changed, which costs as much as
//! finding the row. Lookups that wait in line are answered from one view instead. All of them were asked before it began,
//! so none misses what was committed before it was asked.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use credgate_provider::NodeId;

use super::{connection::Connection, fault::Fault, source::Source};
use crate::{record::Matches, task::Bound};

#[derive(Default)]
pub(super) struct Reading {
    connection: Option<Connection>,
    /// Of the connection, if there is one.
    view: Option<View>,
}

struct View {
    begun: Instant,
    /// The number of the first lookup that was asked after it began.
    before: u64,
}

impl Reading {
    /// One run of the statement for the first of `line`, the numbers of the lookups that wait. When it goes wrong the
    /// connection is closed. A view lasts for `patience`, and as long as the statement that runs then.
    pub(super) fn rows(
        &mut self,
        source: &Source,
        node: &NodeId,
        bound: Bound,
        line: Range<u64>,
        patience: Duration,
    ) -> Result<Matches, Fault> {
        if self.view.as_ref().is_some_and(|view| line.start >= view.before || view.begun.elapsed() >= patience) {
            self.end_view();
        }
        // Kept only if all goes well.
        let (connection, mut view) = match self.connection.take() {
            Some(connection) => (connection, self.view.take()),
            None => (source.connect()?, None),
        };
        if view.is_none() && line.end - line.start > 1 {
            connection.begin_view()?;
            view = Some(View { begun: Instant::now(), before: line.end });
        }
        let matches = connection.rows(&source.query, node, bound)?;
        (self.connection, self.view) = (Some(connection), view);
        Ok(matches)
    }

    pub(super) fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// A connection that cannot end it is closed, which ends it as well.
    pub(super) fn end_view(&mut self) {
        self.view = None;
        self.connection = self.connection.take().filter(|connection| connection.end_view().is_ok());
    }
}
