//! `[lookup]`: where lookups come in, how long each may take, how many run and wait, and what is a node ID and a password.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use credgate_provider::{Grammar, NodeIdRule, PasswordRule, settings::Section};

/// The settings.
#[derive(Clone, Copy, Debug)]
pub struct LookupSettings {
    /// `timeout`: the longest a lookup may take.
    pub timeout: Duration,
    /// `slots`: how many run at once. Set once the provider has said how many it can.
    pub slots: Option<usize>,
    /// `queue`: how many wait for a slot.
    pub queue: usize,
    /// `node_id`
    pub node_ids: NodeIdRule,
    /// `password`
    pub passwords: PasswordRule,
}

/// A registrar's own node waits some seconds for its answer, so nothing longer than a minute is of use to anybody.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);

pub fn read(section: &Section<'_>) -> (Option<SocketAddr>, LookupSettings) {
    let listen = section.required("listen");
    let timeout = section.within("timeout", Duration::from_secs(2), TIMEOUT);
    let slots = section.optional_within("slots", 1..=1_000_000);
    let queue = section.within("queue", 1024, 0..=1_000_000);
    let (node_ids, passwords) = rules(section);
    section.finish();
    (listen, LookupSettings { timeout, slots, queue, node_ids, passwords })
}

/// What is a node ID and what is a password.
pub fn rules(section: &Section<'_>) -> (NodeIdRule, PasswordRule) {
    (node_ids(&section.section("node_id")), passwords(&section.section("password")))
}

/// The slots there will be: what is set, or what the provider can do; never more than that, or a second queue would hide
/// behind the slots.
pub fn slots(section: &Section<'_>, set: Option<usize>, provider: usize) -> Option<usize> {
    if set.is_some_and(|slots| slots > provider) {
        section.problem("slots", format!("is more than the provider can do at once, which is {provider}"));
    }
    let slots = set.unwrap_or(provider).max(1);
    section.show("slots", Some(slots.to_string()), Some(provider.to_string()));
    Some(slots)
}

fn node_ids(section: &Section<'_>) -> NodeIdRule {
    let grammar = section.choice("grammar", &[("digits", Grammar::Digits), ("token", Grammar::Token)]);
    let grammar = grammar.unwrap_or(Grammar::Digits);
    let max_length = section.within("max_length", grammar.longest(), 1..=grammar.longest());
    section.finish();
    NodeIdRule { grammar, max_length }
}

fn passwords(section: &Section<'_>) -> PasswordRule {
    let max_bytes = section.within("max_bytes", PasswordRule::DEFAULT, 1..=PasswordRule::LONGEST);
    section.finish();
    PasswordRule { max_bytes }
}
