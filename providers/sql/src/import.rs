//! Writing nodes into credgate's own schema: all of them or none. The rows have been validated by whoever read them.

use credgate_provider::{NodeId, Password};
use sqlx::SqlStr;

use crate::{
    mysql, postgres, schema, sqlite,
    url::{Database, Location},
    writer::{Meter, Writer},
};

/// One node to write.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// Where it stood in the file, counted from 1.
    pub line: usize,
    /// The node.
    pub node_id: NodeId,
    /// Its password; only a disabled node may have none.
    pub password: Option<Password>,
    /// Whether it may register.
    pub enabled: bool,
}

/// What happens to nodes that are in the database already, and to those that are not in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Only new nodes; one that is there already refuses the whole file.
    Insert,
    /// Nodes that are there are changed, all others are kept.
    Update,
    /// The table becomes the file.
    Replace,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Nodes that are new.
    pub inserted: u64,
    /// Nodes whose password or state changed.
    pub updated: u64,
    /// Nodes that were there already, exactly so.
    pub unchanged: u64,
    /// Nodes that were not in the file (only [`ImportMode::Replace`]).
    pub removed: u64,
}

/// How far an import is. Nothing can be seen by others before it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many of so many rows have been handed to the database.
    Rows {
        /// Handed over.
        done: usize,
        /// In the file.
        of: usize,
    },
    /// The table is being changed.
    Writing,
}

/// Why nothing was imported. The database is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The database cannot be reached, is locked, may not be written, or has no fitting schema (exit code 69).
    #[error("{0}")]
    Unavailable(String),
    /// [`ImportMode::Insert`], and these lines name nodes that exist (exit code 78).
    #[error("{} of the nodes exist already; nothing was imported (--update changes them, --replace makes the table the file)", .lines.len())]
    Exist {
        /// All of them, in the order of the file.
        lines: Vec<usize>,
    },
    /// Lines that break a rule of the table (exit code 78): an enabled node without a password, or a node that stood in
    /// an earlier line.
    #[error("{} lines cannot be stored; nothing was imported: a node stands twice, or is enabled without a password", .lines.len())]
    Invalid {
        /// All of them, in the order of the file.
        lines: Vec<usize>,
    },
}

impl ImportError {
    /// The lines at fault, where lines are.
    pub fn lines(&self) -> &[usize] {
        match self {
            Self::Unavailable(_) => &[],
            Self::Exist { lines } | Self::Invalid { lines } => lines,
        }
    }

    /// What is wrong with each of them.
    pub fn of_line(&self) -> &'static str {
        match self {
            Self::Exist { .. } => "this node exists already",
            _ => "this node stands in an earlier line, or is enabled without a password",
        }
    }
}

/// Writes `rows` in one transaction. `progress` is called between pieces of work, some hundred times at most in a
/// million rows.
pub async fn import(
    database: &Database,
    rows: &[NodeRow],
    mode: ImportMode,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Imported, ImportError> {
    let invalid = invalid(rows);
    if !invalid.is_empty() {
        return Err(ImportError::Invalid { lines: invalid });
    }
    match database.location() {
        Location::Sqlite(path) => run(sqlite::Writer::open(path).await, rows, mode, progress).await,
        Location::Postgres(server) => run(postgres::Writer::open(server).await, rows, mode, progress).await,
        Location::MySql(server) => run(mysql::Writer::open(server).await, rows, mode, progress).await,
    }
}

fn invalid(rows: &[NodeRow]) -> Vec<usize> {
    let mut seen = std::collections::HashSet::with_capacity(rows.len());
    rows.iter()
        .filter(|row| !seen.insert(&row.node_id) || (row.enabled && row.password.is_none()))
        .map(|row| row.line)
        .collect()
}

async fn run<W: Writer>(
    opened: Result<W, String>,
    rows: &[NodeRow],
    mode: ImportMode,
    meter: &mut Meter<'_>,
) -> Result<Imported, ImportError> {
    let mut writer = opened.map_err(ImportError::Unavailable)?;
    let imported = all_or_none(&mut writer, rows, mode, meter).await;
    writer.close().await;
    imported
}

/// The rows go into a temporary table first, which takes most of the time; then one short transaction compares and writes.
/// Readers see the table before or after it, never between, and never empty.
async fn all_or_none<W: Writer>(
    writer: &mut W,
    rows: &[NodeRow],
    mode: ImportMode,
    meter: &mut Meter<'_>,
) -> Result<Imported, ImportError> {
    let failed = ImportError::Unavailable;
    let versions = writer.versions().await.map_err(failed)?;
    schema::writable(&versions).map_err(|text| failed(format!("{} {text}", writer.name())))?;
    writer.turn().await.map_err(failed)?;
    writer.stage(rows, meter).await.map_err(failed)?;
    meter(Progress::Writing);
    writer.begin().await.map_err(failed)?;
    if mode == ImportMode::Insert {
        let lines = writer.lines(EXISTING).await.map_err(failed)?;
        if !lines.is_empty() {
            return Err(ImportError::Exist { lines: lines.into_iter().map(count).collect() });
        }
    }
    let (staged, there, unchanged) = writer.three(W::COUNT).await.map_err(failed)?;
    let removed = match mode {
        ImportMode::Insert | ImportMode::Update => 0,
        ImportMode::Replace => writer.run(SqlStr::from_static(W::REMOVE)).await.map_err(failed)?,
    };
    if staged > unchanged {
        writer.run(SqlStr::from_static(W::WRITE)).await.map_err(failed)?;
    }
    writer.run(SqlStr::from_static("COMMIT")).await.map_err(failed)?;
    Ok(Imported {
        inserted: count(staged - there),
        updated: count(there - unchanged),
        unchanged: count(unchanged),
        removed,
    })
}

/// What a database counted: never negative.
fn count<N: TryFrom<i64> + Default>(number: i64) -> N {
    N::try_from(number).unwrap_or_default()
}

/// The lines whose nodes are in the table already.
const EXISTING: &str = "SELECT line FROM credgate_staged JOIN credgate_nodes USING (node_id) ORDER BY line";
