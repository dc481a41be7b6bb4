//! Functions to be fuzzed: each takes any bytes, and panics when a promise is broken.
//!
//! The tests of this crate replay `corpus/` and throw random bytes at the same functions. `fuzz/` runs them under
//! libFuzzer (see docs/fuzzing.md), and what it finds goes into `corpus/`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a finding")]

mod door;

pub use door::door;

use std::{cell::RefCell, fs, net::IpAddr, path::Path, sync::OnceLock, time::SystemTime};

use credgate::{
    config,
    door::Peer,
    principal::{Identities, Identity, Role},
    registry,
    rpc::client_timeout,
};
use credgate_csv::{Dialect, Rules, Table};
use credgate_provider::{Grammar, NodeIdRule, PasswordRule, Report};
use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, HeaderName},
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// A name and what is run under it.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; each has a folder of that name in `corpus/`.
pub const TARGETS: [Target; 6] = [
    ("node_id", node_id),
    ("grpc_timeout", grpc_timeout),
    ("csv", csv),
    ("config", config),
    ("authorization", authorization),
    ("door", door),
];

/// A node ID that is taken is the text that was given, of the grammar's characters and length.
pub fn node_id(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for grammar in [Grammar::Digits, Grammar::Token] {
        if let Ok(node) = (NodeIdRule { grammar, max_length: grammar.longest() }).parse(text) {
            assert_eq!(node.as_str(), text);
            assert!((1..=grammar.longest()).contains(&text.len()));
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte)));
        }
    }
}

/// A timeout that is taken is made of at most eight digits and a unit.
pub fn grpc_timeout(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let headers = HeaderMap::from_iter([(HeaderName::from_static("grpc-timeout"), value)]);
    if let Ok(Some(_)) = client_timeout(&headers) {
        assert!((2..=9).contains(&data.len()) && data[..data.len() - 1].iter().all(u8::is_ascii_digit));
    }
}

/// A file that is taken holds usable passwords only, finds each of its nodes, and no problem shows a value.
pub fn csv(data: &[u8]) {
    let rules = Rules { node_ids: NodeIdRule::default(), passwords: PasswordRule::default() };
    let report = Report::default();
    let bytes = Zeroizing::new(data.to_vec());
    let table = Table::parse(bytes, Path::new("nodes.csv"), &Dialect::default(), rules, &report);
    assert_eq!(table.is_some(), report.is_clean());
    for node in table.iter().flat_map(Table::nodes) {
        let id = rules.node_ids.parse(node.node_id).unwrap();
        let found = table.as_ref().and_then(|table| table.find(&id).unwrap());
        assert_eq!(found.is_some(), node.enabled);
        if let Some(found) = found {
            assert!(rules.passwords.parse(found.expose().as_bytes()).is_ok());
        }
    }
}

/// Any file is a configuration or a list of problems.
pub fn config(data: &[u8]) {
    thread_local! {
        static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
    }
    FOLDER.with_borrow_mut(|folder| {
        let path = folder.get_or_insert_with(|| tempfile::tempdir().unwrap()).path().join("credgate.toml");
        fs::write(&path, data).unwrap();
        if let Err(refused) = config::load(&path, &registry::kinds()) {
            assert!(!refused.problems.is_empty());
        }
    });
}

/// Only the one right header is let in.
pub fn authorization(data: &[u8]) {
    static IDENTITIES: OnceLock<Identities> = OnceLock::new();
    let identities = IDENTITIES.get_or_init(|| identities(&[]));
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
    let peer = Peer::new(IpAddr::from([127, 0, 0, 1]), None);
    if identities.authenticate(&headers, &peer, SystemTime::UNIX_EPOCH).is_ok() {
        assert!(data.len() == 7 + TOKEN.len() && data.ends_with(TOKEN.as_bytes()));
    }
}

/// The token that a target may guess.
pub const TOKEN: &str = "fuzz";

/// One registrar with [`TOKEN`], and identities with each of `more` tokens.
fn identities(more: &[&str]) -> Identities {
    let identity = |token: &&str| Identity {
        name: (*token).to_owned(),
        role: Role::Registrar,
        tokens: vec![Sha256::digest(token).into()],
        sans: Vec::new(),
    };
    Identities::new([TOKEN].iter().chain(more).map(identity).collect(), false)
}
