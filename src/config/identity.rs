//! `[[identity]]`: who may call, by token digest and certificate name.

use std::collections::{BTreeMap, BTreeSet};

use credgate_provider::settings::Section;

use crate::principal::{Identities, Identity, Role, San};

/// Most identities and most tokens of one: every call compares with every token (41 ns each, measured).
const MOST: usize = 1000;

pub fn read(root: &Section<'_>, client_certificates: bool) -> Option<Identities> {
    let sections = root.sections("identity");
    if sections.is_empty() {
        root.problem(
            "identity",
            "there is none, so nobody could call; add an [[identity]] (`credgate token new` makes a token)",
        );
    }
    if sections.len() > MOST {
        root.problem("identity", format!("stands more than {MOST} times"));
    }
    let identities: Vec<_> = sections.iter().map(|section| identity(section, client_certificates)).collect();
    unique(&sections, &identities);
    let identities: Option<Vec<_>> = identities.into_iter().collect();
    identities.filter(|list| !list.is_empty()).map(|list| Identities::new(list, client_certificates))
}

fn identity(section: &Section<'_>, client_certificates: bool) -> Option<Identity> {
    let name = section.required::<String>("name");
    let role = match section.has("role") {
        true => section.choice("role", &[("registrar", Role::Registrar), ("probe", Role::Probe)]),
        false => {
            section
                .problem("role", "is missing; expected \"registrar\" (lookups and health) or \"probe\" (health only)");
            None
        }
    };
    let tokens = section.required::<Vec<String>>("token_sha256").and_then(|list| digests(section, &list));
    let sans = match section.has("san") {
        true => section.optional::<Vec<String>>("san"),
        false => Some(Vec::new()),
    };
    section.finish();

    if name.as_ref().is_some_and(|name| name.is_empty() || name.len() > 64 || name.contains(char::is_control)) {
        section.problem("name", "must have 1 to 64 characters and no control characters");
    }
    if client_certificates && sans.as_ref().is_some_and(Vec::is_empty) {
        section
            .problem("san", "is missing: with tls.client_ca every identity names its certificates (DNS name or URI)");
    }
    if !client_certificates && sans.as_ref().is_some_and(|sans| !sans.is_empty()) {
        section.problem("san", "has no effect without tls.client_ca, which asks clients for certificates");
    }
    let sans = sans.and_then(|sans| sans.iter().map(|text| san(section, text)).collect::<Option<Vec<_>>>());
    Some(Identity { name: name?, role: role?, tokens: tokens?, sans: sans? })
}

fn digests(section: &Section<'_>, list: &[String]) -> Option<Vec<[u8; 32]>> {
    if list.is_empty() || list.len() > MOST {
        section.problem("token_sha256", format!("must hold 1 to {MOST} digests"));
        return None;
    }
    let mut digests = Vec::new();
    for (index, text) in list.iter().enumerate() {
        match digest(text) {
            Some(digest) => digests.push(digest),
            None => section.problem(
                "token_sha256",
                format!(
                    "entry {}: is not a SHA-256 in 64 hexadecimal digits; it takes the digest, not the token \
                     (`credgate token new` prints both)",
                    index + 1
                ),
            ),
        }
    }
    (digests.len() == list.len()).then_some(digests)
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?, 16).ok()?;
    }
    Some(digest)
}

/// A colon makes it a URI: DNS names have none.
fn san(section: &Section<'_>, text: &str) -> Option<San> {
    if text.is_empty() || !text.is_ascii() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        section.problem("san", "holds an empty name, blanks, or characters that are not ASCII");
        return None;
    }
    if text.contains('*') {
        section.problem("san", "holds a wildcard; names are compared exactly, so name each certificate");
        return None;
    }
    Some(if text.contains(':') { San::Uri(text.to_owned()) } else { San::Dns(text.to_owned()) })
}

/// No name, token or certificate name may stand for two identities.
fn unique(sections: &[Section<'_>], identities: &[Option<Identity>]) {
    let (mut names, mut tokens, mut sans) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for (index, identity) in identities.iter().enumerate() {
        let (Some(section), Some(identity)) = (sections.get(index), identity) else { continue };
        if !names.insert(&identity.name) {
            section.problem("name", format!("\"{}\" is the name of two identities", identity.name));
        }
        for token in &identity.tokens {
            if let Some(other) = tokens.insert(token, &identity.name) {
                section.problem("token_sha256", format!("holds a digest a second time; the first is in \"{other}\""));
            }
        }
        for san in &identity.sans {
            let text = match san {
                San::Dns(text) | San::Uri(text) => text,
            };
            if let Some(other) = sans.insert(text, index).filter(|other| *other != index) {
                let other = identities[other].as_ref().map_or("", |identity| &identity.name);
                section.warning(
                    "san",
                    format!("\"{text}\" is also a name of \"{other}\"; only the tokens tell them apart"),
                );
            }
        }
    }
}
