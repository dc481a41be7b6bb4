//! A place among the lookups that run at once.

use std::{any::Any, fmt};

/// Permission to work on one lookup. It follows the work, not the caller: whoever does the work holds it, and drops it
/// when the work has really ended, however long ago the caller has left.
#[must_use = "dropping a slot says that the work has ended"]
pub struct Slot {
    _held: Box<dyn Any + Send>,
}

impl Slot {
    /// Wraps whatever gives the place back when dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}
