//! Where each node's record begins: an open-addressing table of 32-bit offsets, and nothing else.
//!
//! Knows no node ID: who asks says whether the record at an offset is the wanted one. The hash is seeded per process
//! (SipHash of the standard library), so nobody who may choose node IDs can choose their places.
//!
//! All records are collected first and entered in the order of their places: entering them as they come would wait for
//! memory at every one, three fifths of the time that loading a million took (measured).

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

/// Offsets of records by node ID.
pub(crate) struct Index {
    /// Offset + 1; 0 is a free place, and the last one is free.
    places: Box<[u32]>,
    homes: Homes,
}

/// The records of an index to be.
pub(crate) struct Records {
    /// Hash, then offset.
    entries: Vec<u64>,
    seed: RandomState,
}

/// A node that stands twice: the offsets of its first record and of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) later: usize,
    pub(crate) first: usize,
}

/// Where the search for a node begins.
struct Homes {
    count: usize,
    seed: RandomState,
}

impl Records {
    pub(crate) fn with_room_for(records: usize) -> Self {
        Self { entries: Vec::with_capacity(records), seed: RandomState::new() }
    }

    /// Adds the record of `node` at `offset` (at most [`Index::MOST_BYTES`]).
    pub(crate) fn add(&mut self, node: &[u8], offset: usize) {
        self.entries.push(u64::from(hash(&self.seed, node)) << 32 | offset as u64);
    }

    /// Makes the index, and lists the records whose node stands in an earlier one, in their order; `same` says whether
    /// two offsets are records of one node.
    pub(crate) fn index(mut self, same: impl Fn(usize, usize) -> bool) -> (Index, Vec<Repeat>) {
        self.entries.sort_unstable();
        let repeats = repeats(&self.entries, same);
        // At half load a search looks at 1.5 records on average when it finds, at 2.5 when not.
        let homes = Homes { count: self.entries.len() * 2 + 1, seed: self.seed };
        let place = |free: usize, entry: u64| homes.of((entry >> 32) as u32).max(free);
        let end = self.entries.iter().fold(0, |free, entry| place(free, *entry) + 1);
        let mut places = vec![0; end.max(homes.count) + 1].into_boxed_slice();
        let mut free = 0;
        for entry in self.entries {
            let at = place(free, entry);
            places[at] = entry as u32 + 1;
            free = at + 1;
        }
        (Index { places, homes }, repeats)
    }
}

/// Records of one node have one hash, and so stand side by side, the first of them first.
fn repeats(entries: &[u64], same: impl Fn(usize, usize) -> bool) -> Vec<Repeat> {
    let offset = |entry: &u64| *entry as u32 as usize;
    let mut repeats = Vec::new();
    for run in entries.chunk_by(|one, next| one >> 32 == next >> 32).filter(|run| run.len() > 1) {
        for (position, later) in run.iter().map(offset).enumerate().skip(1) {
            let first = run[..position].iter().map(offset).find(|first| same(*first, later));
            repeats.extend(first.map(|first| Repeat { later, first }));
        }
    }
    repeats.sort_unstable_by_key(|repeat| repeat.later);
    repeats
}

impl Index {
    /// The most bytes a file may have for its offsets to fit.
    pub(crate) const MOST_BYTES: usize = u32::MAX as usize - 1;

    /// Searches for `node`; `read` makes something of the record at an offset if it is the wanted one.
    pub(crate) fn search<T>(&self, node: &[u8], read: impl Fn(usize) -> Option<T>) -> Option<T> {
        let mut place = self.homes.of(hash(&self.homes.seed, node));
        loop {
            let offset = self.places[place].checked_sub(1)?;
            if let Some(found) = read(offset as usize) {
                return Some(found);
            }
            place += 1;
        }
    }
}

impl Homes {
    /// Scales the hash, so that any number of places will do and the order of places is that of hashes.
    fn of(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.count as u64) >> u32::BITS) as usize
    }
}

/// The half of the hash that fits beside an offset: enough to tell 4 billion places apart.
fn hash(seed: &RandomState, node: &[u8]) -> u32 {
    (seed.hash_one(node) >> u32::BITS) as u32
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("places", &self.places.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(names: &[String]) -> (Index, Vec<Repeat>) {
        let mut records = Records::with_room_for(names.len());
        names.iter().enumerate().for_each(|(offset, name)| records.add(name.as_bytes(), offset));
        records.index(|one, other| names[one] == names[other])
    }

    #[test]
    fn every_record_is_found_at_its_own_offset() {
        let names: Vec<String> = (0..500).map(|number| format!("node{number}")).collect();
        let (index, repeats) = index(&names);
        let search = |name: &str| index.search(name.as_bytes(), |at| (names[at] == name).then_some(at));
        for (offset, name) in names.iter().enumerate() {
            assert_eq!(search(name), Some(offset));
        }
        assert_eq!(search("node500"), None);
        assert_eq!(repeats, []);
    }

    #[test]
    fn no_records_have_an_index_too() {
        assert_eq!(index(&[]).0.search(b"node1", Some), None);
    }

    #[test]
    fn every_later_record_of_a_node_is_told_with_the_first() {
        let names: Vec<String> = (0..300).map(|number| format!("node{}", number % 100)).collect();
        let wanted = (100..300).map(|later| Repeat { later, first: later % 100 });
        assert_eq!(index(&names).1, wanted.collect::<Vec<_>>());
    }

    #[test]
    fn nodes_of_one_hash_are_not_one_node() {
        let (index, repeats) = Records { entries: vec![7, 8, 9], seed: RandomState::new() }.index(|one, _| one == 8);
        assert_eq!(repeats, [Repeat { later: 9, first: 8 }]);
        assert_eq!(index.places[..], [8, 9, 10, 0, 0, 0, 0, 0]);
        let last = u64::from(u32::MAX) << 32;
        let (index, _) = Records { entries: vec![last, last + 1], seed: RandomState::new() }.index(|_, _| false);
        assert_eq!(index.places[..], [0, 0, 0, 0, 1, 2, 0], "those at the end go on behind it");
    }
}
