//! The configuration: from the file to values that are known to be good.
//!
//! Every problem is found in one run, with its place and a hint; nothing here touches network, database or interpreter.
//! One file per area, each the only one that knows its keys and defaults.

mod health;
mod identity;
mod limits;
mod log;
mod lookup;
mod provider;
mod rate;
mod shutdown;
mod tls;

pub use lookup::LookupSettings;
pub use provider::ProviderSettings;
pub use tls::TlsSettings;

use std::{net::SocketAddr, path::Path};

use credgate_files::Loaded;
use credgate_provider::{
    Effective, Kind, NodeIdRule, PasswordRule, Problem, Report, Site,
    settings::{Document, Section},
};

use crate::{
    admission::RateLimits, door::Limits, health::HealthSettings, principal::Identities, shutdown::Budget,
    telemetry::LogSettings,
};

/// A configuration that can be started.
pub struct Config {
    /// `[lookup]`: where it listens.
    pub listen: SocketAddr,
    /// `[lookup]`: everything else.
    pub lookup: LookupSettings,
    /// `[limits]`: the lookup listener's.
    pub lookup_limits: Limits,
    /// `[control]`: where it listens.
    pub control: SocketAddr,
    /// `[control]`: its own limits.
    pub control_limits: Limits,
    /// `[tls]`
    pub tls: TlsSettings,
    /// `[[identity]]`
    pub identities: Identities,
    /// `[rate]`
    pub rate: RateLimits,
    /// `[provider]`
    pub provider: ProviderSettings,
    /// `[health]`
    pub health: HealthSettings,
    /// `[shutdown]`
    pub shutdown: Budget,
    /// `[metrics]`: where it listens, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// `[log]`
    pub log: LogSettings,
    /// Every file that was read.
    pub files: Vec<Loaded>,
    /// What is odd, but does not forbid the start.
    pub warnings: Vec<Problem>,
    /// The settings that may be shown.
    pub settings: Vec<Effective>,
}

/// Why there is no configuration to start.
#[derive(Debug)]
pub struct Refused {
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
    /// Everything that is odd beside it.
    pub warnings: Vec<Problem>,
}

/// Reads the configuration file and every local file it names.
pub fn load(path: &Path, kinds: &[Box<dyn Kind>]) -> Result<Config, Refused> {
    let report = Report::default();
    let config = read(path, kinds, &report);
    match config {
        Some(config) if report.is_clean() => {
            Ok(Config { files: report.files(), warnings: report.warnings(), settings: report.settings(), ..config })
        }
        _ => Err(Refused { problems: report.problems(), warnings: report.warnings() }),
    }
}

fn read(path: &Path, kinds: &[Box<dyn Kind>], report: &Report) -> Option<Config> {
    let document = Document::read(path, report)?;
    let root = document.root(report);

    let log = log::read(&root.section("log"));
    let lookup_table = root.section("lookup");
    let (listen, mut lookup) = lookup::read(&lookup_table);
    let lookup_limits = limits::lookup(&root.section("limits"));
    let (control, control_limits) = limits::control(&root.section("control"));
    let tls_table = root.section("tls");
    let tls = tls::read(&tls_table, listen, control, report);
    // Asked of the file: certificates that cannot be used would make names in them look superfluous.
    let identities = identity::read(&root, tls_table.has("client_ca"));
    let rate = rate::read(&root.section("rate"));
    let health = health::read(&root.section("health"));
    let shutdown = shutdown::read(&root.section("shutdown"), &lookup);
    let metrics = metrics(&root.section("metrics"));
    limits::fit_descriptors(&root, &lookup_limits, &control_limits);
    apart(&root, [("lookup", listen), ("control", control), ("metrics", metrics)]);
    let provider_table = root.section("provider");
    root.finish();
    // Last: a store with many bad rows fills the report.
    let provider = provider::read(&provider_table, kinds, &lookup, path, report)?;

    lookup.slots = lookup::slots(&lookup_table, lookup.slots, provider.prepared.slots());
    Some(Config {
        listen: listen?,
        lookup,
        lookup_limits,
        control: control?,
        control_limits,
        tls: tls?,
        identities: identities?,
        rate,
        provider,
        health,
        shutdown,
        metrics,
        log,
        files: Vec::new(),
        warnings: Vec::new(),
        settings: Vec::new(),
    })
}

/// No two listeners can have one address; port 0 takes a free one each time.
fn apart(root: &Section<'_>, listeners: [(&'static str, Option<SocketAddr>); 3]) {
    for (index, (name, address)) in listeners.iter().enumerate() {
        let same = listeners[..index].iter().find(|(_, other)| other == address);
        if let (Some(address), Some((other, _))) = (address, same)
            && address.port() != 0
        {
            root.section(name).problem("listen", format!("is the address of {other}.listen; each needs its own"));
        }
    }
}

fn metrics(section: &Section<'_>) -> Option<SocketAddr> {
    let listen = section.optional::<SocketAddr>("listen");
    if section.is_present() && !section.has("listen") {
        section.problem("listen", "is missing; without it there is no metrics listener, so leave [metrics] out");
    }
    if listen.is_some_and(|address| !address.ip().is_loopback()) {
        section.warning("listen", "is not a loopback address: this listener has no authentication, keep it private");
    }
    section.finish();
    listen
}

impl std::fmt::Debug for Config {
    /// An allow-list, not the struct: settings that may be printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("lookup", &self.lookup)
            .field("control", &self.control)
            .field("health", &self.health)
            .field("shutdown", &self.shutdown)
            .finish_non_exhaustive()
    }
}

/// What is a node ID and a password by `[lookup]`, for commands that need nothing else of it.
pub fn rules(root: &Section<'_>) -> (NodeIdRule, PasswordRule) {
    lookup::rules(&root.section("lookup"))
}

/// The site that a provider is told of.
fn site(path: &Path, lookup: &LookupSettings) -> Site {
    Site {
        base: path.parent().unwrap_or(Path::new("")).to_owned(),
        node_ids: lookup.node_ids,
        passwords: lookup.passwords,
        lookup_timeout: lookup.timeout,
        lookup_slots: lookup.slots,
    }
}
