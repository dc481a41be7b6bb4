//! credgate's own SQL schema: making it, and filling it from a CSV file.
//!
//! Reads of the configuration only what it needs: a migration runs where certificates and tokens are not mounted.

use std::path::Path;

use credgate_csv::{Dialect, Rules, Table};
use credgate_provider::{
    NodeIdRule, Problem, Report,
    settings::{Document, Section},
};
use credgate_sql::{Database, ImportMode, Imported, Migrated, NodeRow, SqlKind, migration_sql};

use crate::config;

/// Why a command on the schema came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Problems of the configuration or the CSV file.
    #[error("{} problems to solve", .0.problems().len())]
    Refused(Box<Report>),
    /// The database cannot be migrated.
    #[error(transparent)]
    Migrate(#[from] credgate_sql::MigrateError),
    /// The database cannot be written.
    #[error(transparent)]
    Import(#[from] credgate_sql::ImportError),
}

/// A configuration of which the parts about the store are read.
#[derive(Debug)]
pub struct Configured<'a> {
    /// The configuration file.
    pub config: &'a Path,
    /// A file with the URL of another role than the gateway's.
    pub url_file: Option<&'a Path>,
}

impl Configured<'_> {
    /// The SQL that a migration runs on an empty database.
    pub fn sql(&self) -> Result<String, SchemaError> {
        self.read(|_, database| migration_sql(database.dialect()))
    }

    /// Brings the schema to this build's version.
    pub async fn migrate(&self) -> Result<Migrated, SchemaError> {
        let database = self.read(|_, database| database)?;
        Ok(credgate_sql::migrate(&database).await?)
    }

    fn read<T>(&self, take: impl FnOnce(&Section<'_>, Database) -> T) -> Result<T, SchemaError> {
        let report = Report::default();
        let taken = self.database(&report, take);
        match taken {
            Some(taken) if report.is_clean() => Ok(taken),
            _ => Err(SchemaError::Refused(report.into())),
        }
    }

    fn database<T>(&self, report: &Report, take: impl FnOnce(&Section<'_>, Database) -> T) -> Option<T> {
        let document = Document::read(self.config, report)?;
        let root = document.root(report);
        let provider = root.section("provider");
        if provider.required::<String>("kind").is_some_and(|kind| kind != "sql") {
            provider.problem("kind", "is not \"sql\", so there is no schema to migrate or to import into");
            return None;
        }
        let base = self.config.parent().unwrap_or(Path::new(""));
        let database = SqlKind.own_schema(&provider.section("sql"), self.url_file, base, report)?;
        Some(take(&root, database))
    }
}

/// What becomes of nodes that are there already.
pub use credgate_sql::{ImportMode as Mode, Progress};

/// Reads a CSV file and writes its nodes, all or none. Returns what is odd about the file beside what was done.
pub async fn import(
    configured: &Configured<'_>,
    file: &Path,
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(Imported, Vec<Problem>), SchemaError> {
    let report = Report::default();
    let read = configured.database(&report, |root, database| {
        let (node_ids, passwords) = config::rules(root);
        let table = credgate_csv::read(file, "FILE", &Dialect::default(), Rules { node_ids, passwords }, &report);
        table.map(|table| (database, rows(&table, node_ids)))
    });
    let Some((database, rows)) = read.flatten().filter(|_| report.is_clean()) else {
        return Err(SchemaError::Refused(report.into()));
    };
    let imported = credgate_sql::import(&database, &rows, mode, progress).await?;
    Ok((imported, report.warnings()))
}

fn rows(table: &Table, node_ids: NodeIdRule) -> Vec<NodeRow> {
    let row = |node: credgate_csv::Node<'_>| {
        let node_id = node_ids.parse(node.node_id).ok()?;
        Some(NodeRow { line: node.line, node_id, password: node.password.ok(), enabled: node.enabled })
    };
    table.nodes().filter_map(row).collect()
}
