//! `[provider.sql]`: reads the settings, and nothing else. Refuses what cannot work before any file is opened; a URL is
//! never shown, since the next one may hold a password.

use std::{fmt, path::Path, time::Duration};

use credgate_provider::{Kind, Prepared, Report, Site, settings::Section};

use crate::{provider::PreparedSql, url::Database};

/// The kind `sql`: credentials from a SQL database.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqlKind;

/// What `[provider.sql]` and the gateway around it say, checked.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) database: Database,
    /// The operator's own query; none: credgate's own schema.
    pub(crate) query: Option<String>,
    pub(crate) max_connections: usize,
    pub(crate) lookup_timeout: Duration,
}

/// One connection is one thread and a few open files; 16 of them answer tens of thousands of lookups a second.
const DEFAULT_CONNECTIONS: usize = 16;
/// A typing error must not become ten thousand threads.
const MOST_CONNECTIONS: usize = 512;

impl Kind for SqlKind {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn prepare(&self, settings: &Section<'_>, site: &Site, report: &Report) -> Option<Box<dyn Prepared>> {
        let database = database(settings, &site.base, report);
        let query = settings.optional::<String>("query");
        if query.as_deref().is_some_and(|query| query.trim().trim_end_matches(';').trim().is_empty()) {
            settings.problem("query", "is empty; leave it out to use credgate's own schema");
        }
        let max_connections = settings.within("max_connections", DEFAULT_CONNECTIONS, 1..=MOST_CONNECTIONS);
        settings.finish();
        let lookup_timeout = site.lookup_timeout;
        Some(Box::new(PreparedSql::new(
            Settings { database: database?, query, max_connections, lookup_timeout },
            site.passwords,
        )))
    }
}

impl SqlKind {
    /// The database that `credgate migrate` and `credgate import` write to: that of `[provider.sql]`, or the one whose
    /// URL stands in `url_file` (an owner role's, where `serve` has a reader's). Both work on credgate's own schema, so
    /// a configured `query` is a problem.
    pub fn own_schema(
        &self,
        settings: &Section<'_>,
        url_file: Option<&Path>,
        base: &Path,
        report: &Report,
    ) -> Option<Database> {
        if settings.has("query") {
            settings
                .problem("query", "is set, so credgate's own schema is not used: nothing to migrate or import into");
        }
        match url_file {
            Some(file) => Database::from_file("--url-file", file, base, report),
            None => database(settings, base, report),
        }
    }
}

fn database(settings: &Section<'_>, base: &Path, report: &Report) -> Option<Database> {
    match (settings.has("url"), settings.path("url_file")) {
        (true, Some(_)) => {
            settings.problem("url_file", "stands beside url; set exactly one of the two");
            None
        }
        (_, Some(file)) => Database::from_file(settings.place("url_file"), &file, base, report),
        (true, None) => {
            let url = settings.optional::<String>("url")?;
            Database::parse(&url, base).map_err(|fault| settings.problem("url", fault)).ok()
        }
        // A `url_file` of the wrong type has been reported as that.
        (false, None) if settings.has("url_file") => None,
        (false, None) => {
            settings.problem("url", "is missing; set url (such as \"sqlite:nodes.db\") or url_file");
            None
        }
    }
}

/// The settings may hold a URL with a password one day.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("max_connections", &self.max_connections).finish_non_exhaustive()
    }
}
