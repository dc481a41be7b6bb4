//! Where each node's record begins: an open-addressing table of 32-bit offsets, and nothing else.
//!
//! Knows no node ID: who asks says whether the record at an offset is the wanted one. The hash is seeded per process
//! (SipHash of the standard library), so nobody who may choose node IDs can choose their places.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

/// Offsets of records by node ID.
pub(crate) struct Index {
    /// Offset + 1; 0 is a free place.
    places: Box<[u32]>,
    seed: RandomState,
}

/// What a search comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<T> {
    /// The wanted record is there; this is what was made of it.
    Taken(T),
    /// There is none; it would stand here.
    Free(usize),
}

impl Index {
    /// The most bytes a file may have for its offsets to fit.
    pub(crate) const MOST_BYTES: usize = u32::MAX as usize - 1;

    /// Room for `records` at half load: a search then looks at 1.5 records on average when it finds, 2.5 when not.
    pub(crate) fn with_room_for(records: usize) -> Self {
        Self { places: vec![0; records * 2 + 1].into_boxed_slice(), seed: RandomState::new() }
    }

    /// Searches for `node`; `read` makes something of the record at an offset if it is the wanted one.
    pub(crate) fn search<T>(&self, node: &[u8], read: impl Fn(usize) -> Option<T>) -> Place<T> {
        let count = self.places.len();
        // Scales the hash to the table by its high bits, so that any size will do.
        let mut place = ((u128::from(self.seed.hash_one(node)) * count as u128) >> u64::BITS) as usize;
        loop {
            let Some(offset) = self.places[place].checked_sub(1) else { return Place::Free(place) };
            if let Some(found) = read(offset as usize) {
                return Place::Taken(found);
            }
            place = (place + 1) % count;
        }
    }

    /// Puts the record at `offset` (at most [`Index::MOST_BYTES`]) into a free place.
    pub(crate) fn put(&mut self, place: usize, offset: usize) {
        self.places[place] = offset as u32 + 1;
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("places", &self.places.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_found_at_its_own_offset() {
        let names: Vec<String> = (0..500).map(|number| format!("node{number}")).collect();
        let mut index = Index::with_room_for(names.len());
        let search = |index: &Index, name: &str| index.search(name.as_bytes(), |at| (names[at] == name).then_some(at));
        for (offset, name) in names.iter().enumerate() {
            let Place::Free(place) = search(&index, name) else { panic!("{name} is there twice") };
            index.put(place, offset);
        }
        for (offset, name) in names.iter().enumerate() {
            assert_eq!(search(&index, name), Place::Taken(offset));
        }
        assert!(matches!(search(&index, "node500"), Place::Free(_)));
        assert_eq!(search(&Index::with_room_for(0), "node1"), Place::Free(0));
    }
}
