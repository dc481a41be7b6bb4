//! credgate's own table without a node in it. It would answer "no such node" of everybody, and registrars would drop what
//! they have cached: far more often an accident than a wish. Decides that nothing is opened on such a table and that the
//! check fails on it; from then on a lookup that finds no row is refused, until a node has been seen again.
//!
//! Says nothing about an operator's query: it is only ever asked for one node.

use std::sync::atomic::{AtomicBool, Ordering};

use credgate_provider::{Password, PasswordRule, ProviderError};

use crate::{record::Matches, settings::Settings};

pub(crate) struct Vacancy {
    allowed: bool,
    /// What was found last.
    empty: AtomicBool,
}

const SENTENCE: &str = "credgate_nodes holds no node, and every lookup would be answered \"no such node\": fill it with \
     `credgate import`, or set provider.sql.allow_empty = true";

impl Vacancy {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { allowed: settings.allow_empty || settings.query.is_some(), empty: false.into() }
    }

    /// Takes into account whether the table holds a node, as the check found it.
    pub(crate) fn found(&self, any: bool) -> Result<(), String> {
        let empty = !any && !self.allowed;
        self.empty.store(empty, Ordering::Relaxed);
        if empty { Err(SENTENCE.to_owned()) } else { Ok(()) }
    }

    /// The answer of a lookup. Finding no row means nothing while the whole table is known to be empty.
    pub(crate) fn judge(&self, matches: Matches, rule: PasswordRule) -> Result<Option<Password>, ProviderError> {
        if self.empty.load(Ordering::Relaxed) {
            if !matches.found_any() {
                return Err(ProviderError::Unavailable(SENTENCE.into()));
            }
            self.empty.store(false, Ordering::Relaxed);
        }
        matches.judge(rule)
    }
}
