//! Nodes with random passwords that the test remembers.

use std::{collections::BTreeMap, fmt};

/// Node IDs and their passwords: the same ones for the same seed.
#[derive(Clone)]
pub struct Nodes(BTreeMap<String, String>);

impl Nodes {
    /// The seed of every deployment that names no other.
    pub const SEED: u64 = 0x6372_6564;

    /// `count` nodes from 2000 upwards, passwords of 16 to 24 characters that need no quoting in CSV.
    pub fn seeded(seed: u64, count: usize) -> Self {
        let mut random = SplitMix(seed);
        Self((0..count).map(|index| ((2000 + index).to_string(), random.password())).collect())
    }

    /// The password of a node that is there.
    pub fn password(&self, node: &str) -> &str {
        self.0.get(node).unwrap_or_else(|| panic!("the test has no node {node}; it has {:?}", self.0.keys()))
    }

    /// Every node ID.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Every password.
    pub fn passwords(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// Node ID and password of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(node, password)| (node.as_str(), password.as_str()))
    }

    /// The file that holds them.
    pub fn csv(&self) -> String {
        let rows = self.0.iter().map(|(node, password)| format!("{node},{password}\n"));
        std::iter::once("node_id,password\n".to_owned()).chain(rows).collect()
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nodes({})", self.0.len())
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seeded, good enough to tell passwords apart.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn password(&mut self) -> String {
        let length = 16 + self.below(9);
        (0..length).map(|_| char::from(ALPHABET[self.below(ALPHABET.len())])).collect()
    }
}

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&*+-./:=?@^_~";
