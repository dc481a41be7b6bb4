//! `[provider.sql]`: reads the settings, and nothing else. Refuses what cannot work before any file is opened; a URL is
//! never shown, since the next one may hold a password.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use credgate_provider::{Kind, Prepared, Report, Site, settings::Section};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{
    provider::PreparedSql,
    url::{Database, Dialect, Location, Tls},
};

/// The kind `sql`: credentials from a SQL database.
#[derive(Clone, Copy, Debug, Default)]
pub struct SqlKind;

/// What `[provider.sql]` and the gateway around it say, checked.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) database: Database,
    /// The operator's own query; none: credgate's own schema.
    pub(crate) query: Option<String>,
    /// Where the query stands, for what is wrong with it.
    pub(crate) query_place: String,
    /// Whether credgate's own schema may hold no node.
    pub(crate) allow_empty: bool,
    pub(crate) max_connections: usize,
    /// How long a connection to a server lives, give or take 20 %.
    pub(crate) max_connection_age: Duration,
    pub(crate) lookup_timeout: Duration,
}

/// One connection is one thread and a few open files; 16 of them answer tens of thousands of lookups a second.
const DEFAULT_CONNECTIONS: usize = 16;
/// A typing error must not become ten thousand threads.
const MOST_CONNECTIONS: usize = 512;
/// A server that took over under the same name is used by every connection after ten minutes.
const DEFAULT_AGE: Duration = Duration::from_secs(10 * 60);
const AGES: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 60 * 60);

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
        let allow_empty = settings.or("allow_empty", false);
        if query.is_some() && settings.has("allow_empty") {
            settings.problem(
                "allow_empty",
                "is about credgate's own schema; a query tells nothing about nodes that it is not asked for: leave it out",
            );
        }
        let max_connections = settings.within("max_connections", DEFAULT_CONNECTIONS, 1..=MOST_CONNECTIONS);
        let max_connection_age = settings.within("max_connection_age", DEFAULT_AGE, AGES);
        if database.as_ref().is_some_and(|database| database.dialect() == Dialect::Sqlite) {
            for key in ["ca", "max_connection_age", "pooler"].into_iter().filter(|key| settings.has(key)) {
                settings.problem(key, "is about database servers, and the URL names an SQLite file; leave it out");
            }
        }
        settings.finish();
        let settings = Settings {
            database: database?,
            query,
            query_place: settings.place("query").to_string(),
            allow_empty,
            max_connections,
            max_connection_age,
            lookup_timeout: site.lookup_timeout,
        };
        Some(Box::new(PreparedSql::new(settings, site.passwords)))
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
            Some(file) => reached(settings, Database::from_file("--url-file", file, base, report)),
            None => database(settings, base, report),
        }
    }
}

fn database(settings: &Section<'_>, base: &Path, report: &Report) -> Option<Database> {
    reached(settings, named(settings, base, report))
}

/// The database with what else the settings say about the way to it.
fn reached(settings: &Section<'_>, database: Option<Database>) -> Option<Database> {
    let pooler = settings.or("pooler", false);
    let file = settings.path("ca");
    let database = database?;
    if pooler && database.dialect() == Dialect::MySql {
        settings
            .problem("pooler", "is about PostgreSQL's transaction-mode poolers; leave it out for MySQL and MariaDB");
    }
    let ca = match &file {
        Some(file) => Some(ca(file).map_err(|text| settings.problem("ca", text)).ok()?),
        None => None,
    };
    if let (Some(_), Location::Postgres(server) | Location::MySql(server)) = (&ca, database.location())
        && matches!(server.tls, Tls::Off | Tls::Unverified)
    {
        settings.problem(
            "ca",
            "is set, and no certificate is verified: the URL names this machine, or says so itself; add \
             ?sslmode=verify-full to it or leave ca out",
        );
    }
    Some(database.reached(ca.as_ref(), pooler))
}

/// PEM with at least one certificate, all of them readable.
fn ca(file: &Path) -> Result<Arc<[u8]>, String> {
    let shown = file.display();
    let pem = std::fs::read(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(pem.into()),
        Ok(_) => Err(format!("{shown} holds no PEM certificate")),
        Err(_) => Err(format!("{shown} holds a PEM certificate that cannot be read")),
    }
}

fn named(settings: &Section<'_>, base: &Path, report: &Report) -> Option<Database> {
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
            settings
                .problem("url", "is missing; set url (such as \"sqlite:nodes.db\" or \"postgres://…\") or url_file");
            None
        }
    }
}

/// The settings hold a URL with a password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("max_connections", &self.max_connections).finish_non_exhaustive()
    }
}
