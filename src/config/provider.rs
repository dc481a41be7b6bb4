//! `[provider]`: which kind, its own table, and how long it may take to open.

use std::{path::Path, time::Duration};

use credgate_provider::{
    Kind, Prepared, Report,
    settings::{Section, suggestion},
};

use super::LookupSettings;
use crate::registry;

/// A provider whose settings are good, not yet open.
pub struct ProviderSettings {
    /// The word in `provider.kind`.
    pub kind: &'static str,
    /// The provider.
    pub prepared: Box<dyn Prepared>,
    /// `open_timeout`
    pub open_timeout: Duration,
}

pub fn read(
    section: &Section<'_>,
    kinds: &[Box<dyn Kind>],
    lookup: &LookupSettings,
    path: &Path,
    report: &Report,
) -> Option<ProviderSettings> {
    let open_timeout =
        section.within("open_timeout", Duration::from_secs(30), Duration::from_millis(10)..=Duration::from_secs(3600));
    let word = section.required::<String>("kind");
    // One section per kind, so that a table of another kind is told from a misspelt key.
    let tables: Vec<_> = kinds.iter().map(|kind| (kind, section.section(kind.name()))).collect();
    section.finish();
    let word = word?;
    let Some((kind, table)) = tables.iter().find(|(kind, _)| kind.name() == word) else {
        section.problem("kind", unknown(&word, kinds));
        return None;
    };
    for (kind, _) in tables.iter().filter(|(kind, table)| table.is_present() && kind.name() != word) {
        section.problem(kind.name(), format!("is the table of another kind than provider.kind = \"{word}\""));
    }
    section.show("kind", Some(word), None);
    let site = super::site(path, lookup);
    let prepared = kind.prepare(table, &site, report);
    Some(ProviderSettings { kind: kind.name(), prepared: prepared?, open_timeout })
}

fn unknown(word: &str, kinds: &[Box<dyn Kind>]) -> String {
    if let Some(feature) = registry::left_out(word) {
        return format!("is a kind that this build leaves out; build with --features {feature}");
    }
    let known: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    format!("knows only {}{}", known.join(", "), suggestion(word, &known))
}

impl std::fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderSettings").field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_was_left_out_names_its_feature() {
        for (kind, built) in
            [("csv", cfg!(feature = "csv")), ("sql", cfg!(feature = "sql")), ("python", cfg!(feature = "python"))]
        {
            let kinds = registry::kinds();
            let known = kinds.iter().any(|one| one.name() == kind);
            let said = unknown(kind, &kinds);
            assert_eq!((known, said.contains(&format!("build with --features {kind}"))), (built, !built), "{said}");
        }
    }
}
