//! Connections that have not brought an authenticated RPC yet.
//!
//! Where a cap is reached, the oldest of them makes room: whoever has no token cannot keep those out that have one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::admission::Source;

/// All of them, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Strangers(Arc<Mutex<Line>>);

#[derive(Debug, Default)]
struct Line {
    next: u64,
    waiting: BTreeMap<u64, (Source, CancellationToken)>,
}

/// One of them, until it is known or gone.
#[derive(Debug)]
pub struct Stranger {
    strangers: Strangers,
    number: u64,
    told: CancellationToken,
}

impl Strangers {
    /// A connection has come.
    pub fn enter(&self, source: Source) -> Stranger {
        let told = CancellationToken::new();
        let mut line = self.line();
        let number = line.next;
        line.next += 1;
        line.waiting.insert(number, (source, told.clone()));
        Stranger { strangers: self.clone(), number, told }
    }

    /// Tells the oldest, or the oldest of `source`, to go. False when there is none.
    pub fn make_room(&self, source: Option<Source>) -> bool {
        let mut line = self.line();
        let oldest = line.waiting.iter().find(|(_, (from, _))| source.is_none_or(|source| source == *from));
        let Some(number) = oldest.map(|(number, _)| *number) else { return false };
        line.waiting.remove(&number).inspect(|(_, told)| told.cancel()).is_some()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stranger {
    /// Ends when it has to make room.
    pub async fn told_to_go(&self) {
        self.told.cancelled().await;
    }

    /// It has brought an authenticated RPC: it stays.
    pub fn is_known(&self) {
        self.strangers.line().waiting.remove(&self.number);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.is_known();
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn the_oldest_makes_room_and_a_known_one_never() {
        let [here, there] = [1, 2].map(|last| Source::from(IpAddr::from([192, 0, 2, last])));
        let strangers = Strangers::default();
        let line = [here, here, there, there].map(|source| strangers.enter(source));
        line[0].is_known();
        assert!(strangers.make_room(Some(there)) && strangers.make_room(None));
        let told = line.each_ref().map(|stranger| stranger.told.is_cancelled());
        assert_eq!(told, [false, true, true, false]);
        assert!(!strangers.make_room(Some(here)));
        drop(line);
        assert!(!strangers.make_room(None));
    }
}
