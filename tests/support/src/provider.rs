//! A provider as the gateway treats it, without a gateway: prepared from its table of the configuration, opened, asked.

use std::{path::Path, time::Duration};

use credgate_provider::{
    Deadline, Grammar, Kind, NodeId, NodeIdRule, OpenError, PasswordRule, Prepared, Provider, ProviderError, Report,
    Site, Slot, settings::Document,
};

/// `lookup.timeout`, and what lookups and checks are given.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// What opening is given where a test says nothing else.
pub const OPENING: Duration = Duration::from_secs(30);

/// A gateway whose configuration stands in a folder.
pub fn site(base: &Path) -> Site {
    Site {
        base: base.to_owned(),
        node_ids: NodeIdRule::default(),
        passwords: PasswordRule::default(),
        lookup_timeout: TIMEOUT,
        lookup_slots: None,
    }
}

/// Prepares what `[provider.KIND]` says; the problems where it cannot be.
pub fn prepare(kind: &dyn Kind, site: Site, settings: &str) -> Result<Box<dyn Prepared>, Vec<String>> {
    let report = Report::default();
    let document = document(kind, &site.base, settings, &report);
    let root = document.root(&report);
    let prepared = kind.prepare(&root.section("provider").section(kind.name()), &site, &report);
    prepared.filter(|_| report.is_clean()).ok_or_else(|| texts(&report))
}

/// The configuration file with nothing in it but `[provider.KIND]`.
pub fn document(kind: &dyn Kind, base: &Path, settings: &str, report: &Report) -> Document {
    Document::parse(&base.join("credgate.toml"), &format!("[provider.{}]\n{settings}", kind.name()), report)
}

/// Every problem of a report.
pub fn texts(report: &Report) -> Vec<String> {
    report.problems().iter().map(ToString::to_string).collect()
}

/// Opens it; why not, as the operator is told: what is wrong with the configuration begins with its place.
pub async fn open(prepared: Box<dyn Prepared>, within: Duration) -> Result<Box<dyn Provider>, String> {
    prepared.open(Deadline::after(within)).await.map_err(|error| match error {
        OpenError::Unavailable(detail) => detail.to_string(),
        OpenError::Configuration(problem) => problem.to_string(),
    })
}

/// A node ID of the wider grammar.
pub fn node(text: &str) -> NodeId {
    NodeIdRule { grammar: Grammar::Token, max_length: 64 }.parse(text).unwrap()
}

/// The password, or nothing, or the error, as a text that can be compared.
pub async fn get(provider: &dyn Provider, text: &str) -> String {
    get_within(provider, text, TIMEOUT).await
}

/// The same by a deadline of one's own.
pub async fn get_within(provider: &dyn Provider, text: &str, timeout: Duration) -> String {
    match provider.lookup(&node(text), Deadline::after(timeout), Slot::new(())).await {
        Ok(Some(password)) => password.expose().to_owned(),
        Ok(None) => "no such node".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Whether lookups could be answered now.
pub async fn check(provider: &dyn Provider) -> Result<(), ProviderError> {
    provider.check(Deadline::after(TIMEOUT)).await
}
