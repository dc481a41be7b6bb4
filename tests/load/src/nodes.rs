//! What is asked, and what must be answered: the CSV file of the gateway's nodes.

use std::{
    cell::Cell,
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher as _, Hasher as _},
    path::Path,
};

use bytes::Bytes;
use credgate_proto::{LookupCredentialRequest, LookupCredentialResponse};
use credgate_support::rawh2::framed;
use prost::Message;

/// Every node of a network, ready to be asked for.
#[derive(Clone)]
pub struct Nodes(Vec<Question>);

/// One lookup and the one right answer to it.
#[derive(Clone)]
pub struct Question {
    /// The request's body.
    pub(crate) body: Bytes,
    /// The answer's body; none for a disabled node, whose answer is NOT_FOUND.
    pub(crate) answer: Option<Bytes>,
}

impl Nodes {
    /// Reads `node_id,password[,enabled]` with a header, as the gateway's csv provider and `credgate import` take it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: csv::Error| format!("{}: {error}", path.display());
        let mut reader = csv::Reader::from_path(path).map_err(failed)?;
        let headers = reader.headers().map_err(failed)?.clone();
        let column = |name: &str| headers.iter().position(|header| header == name);
        let missing = |name: &str| format!("{}: has no column {name}", path.display());
        let node = column("node_id").ok_or_else(|| missing("node_id"))?;
        let password = column("password").ok_or_else(|| missing("password"))?;
        let enabled = column("enabled");
        let mut questions = Vec::new();
        for record in reader.records() {
            let record = record.map_err(failed)?;
            let field = |index: usize| record.get(index).unwrap_or_default();
            let is_enabled = enabled.is_none_or(|column| is_true(field(column)));
            questions.push(Question::new(field(node), is_enabled.then(|| field(password))));
        }
        if questions.is_empty() {
            return Err(format!("{}: has no nodes", path.display()));
        }
        Ok(Self(questions))
    }

    /// Those of a test's deployment.
    pub fn of(nodes: &credgate_support::deployment::Nodes) -> Self {
        Self(nodes.iter().map(|(node, password)| Question::new(node, Some(password))).collect())
    }

    /// These alone; `None` for nodes that are not there.
    pub fn some<'a>(nodes: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        Self(nodes.into_iter().map(|(node, password)| Question::new(node, password)).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Any of them.
    pub(crate) fn random(&self) -> &Question {
        thread_local! {
            static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
        }
        // SplitMix64 (Steele, Lea, Flood 2014); the slight bias of the remainder does not matter here.
        let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        STATE.set(state);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let index = usize::try_from((z ^ (z >> 31)) >> 1).unwrap_or_default() % self.0.len();
        &self.0[index]
    }
}

impl Question {
    /// Asks for a node; without a password it must not be found.
    pub fn new(node: &str, password: Option<&str>) -> Self {
        let message = |message: Vec<u8>| framed(0, message.len(), &message);
        let request = LookupCredentialRequest { node_id: node.into() };
        let answer =
            password.map(|password| message(LookupCredentialResponse { password: password.into() }.encode_to_vec()));
        Self { body: message(request.encode_to_vec()), answer }
    }
}

/// Without what stands in it: passwords.
impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nodes({})", self.0.len())
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Question")
    }
}

fn is_true(text: &str) -> bool {
    ["true", "1", "yes"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disabled_node_must_not_be_found() {
        let dir = tempfile();
        std::fs::write(&dir, "password,enabled,node_id\nsecret,yes,2000\nother,no,2001\n").unwrap();
        let nodes = Nodes::read(&dir).unwrap();
        std::fs::remove_file(&dir).unwrap();
        assert_eq!(nodes.count(), 2);
        assert_eq!(&nodes.0[0].body[..], b"\0\0\0\0\x06\x0a\x042000");
        assert_eq!(nodes.0[0].answer.as_deref(), Some(&b"\0\0\0\0\x08\x0a\x06secret"[..]));
        assert!(nodes.0[1].answer.is_none());
        assert!(Nodes::read(&dir).unwrap_err().contains("No such file"));
    }

    #[test]
    fn every_node_comes() {
        let nodes = Nodes::some([("1", None), ("2", Some("x")), ("3", None)]);
        let mut seen: Vec<_> = (0..1000).map(|_| nodes.random().body[7]).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, b"123");
    }

    fn tempfile() -> std::path::PathBuf {
        std::env::temp_dir().join(format!("credgate-load-{}.csv", std::process::id()))
    }
}
