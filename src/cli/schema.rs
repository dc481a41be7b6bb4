//! `credgate migrate` and `credgate import`: the only commands that write to a database, and only to our own schema.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use clap::Args;
use credgate_provider::Report;

use super::{
    Configured, Exit,
    check::list,
    print::{err, out},
};
use crate::registry::own_schema::{self, Mode, Progress, SchemaError};

#[derive(Args, Debug)]
pub struct Migrate {
    #[command(flatten)]
    configured: Configured,
    /// File with the URL of a role that may create tables, where the gateway's own may only read
    #[arg(long, value_name = "FILE")]
    url_file: Option<PathBuf>,
    /// Print the SQL instead of running it
    #[arg(long)]
    print: bool,
}

#[derive(Args, Debug)]
pub struct Import {
    /// CSV file with the columns node_id, password and, if wanted, enabled
    file: PathBuf,
    #[command(flatten)]
    configured: Configured,
    /// File with the URL of a role that may write, where the gateway's own may only read
    #[arg(long, value_name = "FILE")]
    url_file: Option<PathBuf>,
    /// Change nodes that exist, keep those that are not in the file
    #[arg(long, conflicts_with = "replace")]
    update: bool,
    /// Make the table what the file says: nodes that are not in it are removed
    #[arg(long)]
    replace: bool,
}

pub const MIGRATE: &str = "\
Examples:
  credgate migrate --config credgate.toml
  credgate migrate --config credgate.toml --url-file owner.url    as the owner of the tables
  credgate migrate --config credgate.toml --print                 for an administrator who runs SQL by hand

Forward only; a schema that is up to date is left alone. Gateways of the version before go on meanwhile.
Exit codes: 0 done, 69 the database, 78 the configuration";

pub const IMPORT: &str = "\
One transaction: all nodes or none. Without --update and --replace nodes that exist are refused.

Examples:
  credgate import nodes.csv --config credgate.toml              first import
  credgate import nodes.csv --config credgate.toml --replace    the table becomes the file

Exit codes: 0 done, 69 the database, 78 the configuration or the file";

impl Migrate {
    pub fn run(self) -> Exit {
        let configured = own_schema::Configured { config: &self.configured.config, url_file: self.url_file.as_deref() };
        if self.print {
            return match configured.sql() {
                Ok(sql) => {
                    out!("{}", sql.trim_end());
                    Exit::Clean
                }
                Err(error) => tell(&error, None),
            };
        }
        match block_on(configured.migrate()) {
            Ok(Ok(done)) => {
                match done.from {
                    Some(from) if from == done.to => out!("{}: schema version {from} already", done.place),
                    Some(from) => out!("{}: schema version {from} is now {}", done.place, done.to),
                    None => out!("{}: schema version {} made", done.place, done.to),
                }
                Exit::Clean
            }
            Ok(Err(error)) => tell(&error, None),
            Err(exit) => exit,
        }
    }
}

impl Import {
    pub fn run(self) -> Exit {
        let mode = match (self.update, self.replace) {
            (true, _) => Mode::Update,
            (_, true) => Mode::Replace,
            _ => Mode::Insert,
        };
        let configured = own_schema::Configured { config: &self.configured.config, url_file: self.url_file.as_deref() };
        let mut meter = Meter { on: io::stderr().is_terminal() };
        let mut progress = |progress| meter.show(progress);
        let imported = block_on(own_schema::import(&configured, &self.file, mode, &mut progress));
        meter.clear();
        match imported {
            Ok(Ok((done, warnings))) => {
                list("warning", &warnings);
                out!(
                    "{} nodes: {} inserted, {} updated, {} unchanged, {} removed",
                    done.inserted + done.updated + done.unchanged,
                    done.inserted,
                    done.updated,
                    done.unchanged,
                    done.removed
                );
                Exit::Clean
            }
            Ok(Err(error)) => tell(&error, Some(&self.file)),
            Err(exit) => exit,
        }
    }
}

/// Progress on a terminal, one line that is written over.
struct Meter {
    on: bool,
}

impl Meter {
    fn show(&mut self, progress: Progress) {
        let text = match progress {
            Progress::Rows { done, of } => format!("{done} of {of} rows read"),
            Progress::Writing => "writing".to_owned(),
        };
        self.line(&text);
    }

    fn clear(&mut self) {
        self.line("");
    }

    fn line(&mut self, text: &str) {
        if self.on {
            // Only a decoration: nothing depends on its being seen.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Exit> {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => Ok(runtime.block_on(work)),
        Err(error) => {
            err!("credgate: the system gives no resources: {error}");
            Err(Exit::Failure)
        }
    }
}

fn tell(error: &SchemaError, file: Option<&std::path::Path>) -> Exit {
    match error {
        SchemaError::Refused(report) => {
            list("warning", &report.warnings());
            list("error", &report.problems());
            Exit::Configuration
        }
        SchemaError::Migrate(error) => {
            err!("credgate: {error}");
            Exit::Store
        }
        SchemaError::Import(error) => {
            let report = Report::default();
            for line in error.lines() {
                report.problem(format_args!("{}:{line}", file.unwrap_or("".as_ref()).display()), error.of_line());
            }
            list("error", &report.problems());
            err!("credgate: {error}");
            if error.lines().is_empty() { Exit::Store } else { Exit::Configuration }
        }
    }
}
