//! The provider itself: nothing to open, nothing that can fail later.

use std::path::PathBuf;

use credgate_provider::{
    BoxFuture, Deadline, Kind, NodeId, Number, OpenError, Password, Prepared, Provider, ProviderError, Report, Site,
    Slot, settings::Section,
};
use futures::FutureExt;

use crate::{Rules, Table, read, settings};

/// The kind `csv`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsvKind;

impl Kind for CsvKind {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn prepare(&self, settings: &Section<'_>, site: &Site, report: &Report) -> Option<Box<dyn Prepared>> {
        let (path, dialect) = settings::read(settings);
        let (path, dialect) = (path?, dialect?);
        let rules = Rules { node_ids: site.node_ids, passwords: site.passwords };
        let table = read(&path, &settings.place("path"), &dialect, rules, report)?;
        Some(Box::new(CsvProvider { table, path }))
    }
}

/// A loaded file: prepared and open are the same.
#[derive(Debug)]
struct CsvProvider {
    table: Table,
    path: PathBuf,
}

impl Prepared for CsvProvider {
    /// Lookups never wait, so this bounds nothing that could run out.
    fn slots(&self) -> usize {
        1024
    }

    fn open(self: Box<Self>, _deadline: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>> {
        async { Ok(self as Box<dyn Provider>) }.boxed()
    }
}

impl Provider for CsvProvider {
    fn lookup<'a>(
        &'a self,
        node: &'a NodeId,
        _deadline: Deadline,
        slot: Slot,
    ) -> BoxFuture<'a, Result<Option<Password>, ProviderError>> {
        async move {
            let _until_done = slot;
            self.table.find(node).map_err(|fault| ProviderError::Corrupt(fault.to_string().into()))
        }
        .boxed()
    }

    fn check(&self, _deadline: Deadline) -> BoxFuture<'_, Result<(), ProviderError>> {
        async { Ok(()) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn summary(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().display();
        let nodes = if self.table.len() == 1 { "node" } else { "nodes" };
        let disabled = match self.table.disabled() {
            0 => String::new(),
            disabled => format!(" ({disabled} disabled)"),
        };
        format!("{} {nodes}{disabled} from {name}", self.table.len())
    }

    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::gauge("rows", "Nodes in the loaded file, disabled ones included", self.table.len()),
            Number::gauge("rows_disabled", "Nodes in the loaded file that are disabled", self.table.disabled()),
        ]
    }
}
