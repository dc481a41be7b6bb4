//! The credential store of a deployment to try: SQLite in credgate's own schema, or a CSV file; some nodes in it.

use clap::ValueEnum;

use super::{InitError, files::Files};

/// Where the nodes are kept.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Store {
    /// nodes.db: changes are seen by the next lookup
    #[cfg(feature = "sql")]
    #[cfg_attr(feature = "sql", default)]
    Sqlite,
    /// nodes.csv: read at start
    #[cfg_attr(not(feature = "sql"), default)]
    Csv,
}

/// Sample nodes and whether they are enabled.
pub const NODES: [(&str, bool); 4] = [("2000", true), ("2001", true), ("0200", true), ("2999", false)];

impl Store {
    /// Its part of the configuration.
    pub fn configuration(self) -> &'static str {
        match self {
            #[cfg(feature = "sql")]
            Self::Sqlite => "[provider]\nkind = \"sql\"\n\n[provider.sql]\nurl = \"sqlite:nodes.db\"",
            Self::Csv => "[provider]\nkind = \"csv\"\n\n[provider.csv]\npath = \"nodes.csv\"",
        }
    }

    /// Makes it, beside the configuration that names it.
    pub fn fill(self, files: &Files<'_>) -> Result<(), InitError> {
        files.private("nodes.csv", &nodes()?)?;
        match self {
            #[cfg(feature = "sql")]
            Self::Sqlite => sqlite(files),
            Self::Csv => Ok(()),
        }
    }

    /// What its owner should know.
    pub fn what_to_know(self, dir: &str) -> String {
        match self {
            #[cfg(feature = "sql")]
            Self::Sqlite => format!(
                "\
Its nodes are in {dir}/nodes.db, and the next lookup sees a change:
  sqlite3 {dir}/nodes.db 'SELECT node_id, enabled FROM credgate_nodes'
  sqlite3 {dir}/nodes.db \"INSERT INTO credgate_nodes (node_id, password) VALUES ('2002', 'its-password')\""
            ),
            Self::Csv => format!("Its nodes stand in {dir}/nodes.csv; a change there takes a restart."),
        }
    }
}

/// The CSV file becomes the database and is gone: one truth.
#[cfg(feature = "sql")]
fn sqlite(files: &Files<'_>) -> Result<(), InitError> {
    use crate::registry::own_schema::{Configured, Mode, import};

    let (config, nodes) = (files.path("credgate.toml"), files.path("nodes.csv"));
    let configured = Configured { config: &config, url_file: None };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| InitError::File { path: config.clone(), source })?;
    runtime
        .block_on(async {
            configured.migrate().await?;
            import(&configured, &nodes, Mode::Insert, &mut |_| ()).await.map(drop)
        })
        .map_err(|error| InitError::Database(error.to_string()))?;
    std::fs::remove_file(&nodes).map_err(|source| InitError::File { path: nodes, source })
}

fn nodes() -> Result<String, getrandom::Error> {
    let mut text = String::from("node_id,password,enabled\n");
    for (node, enabled) in NODES {
        text += &format!("{node},{},{enabled}\n", password()?);
    }
    Ok(text)
}

/// 20 characters without those that are easily taken for one another: 100 bits.
fn password() -> Result<String, getrandom::Error> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0; 20];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}
