//! One lookup on its way through Python, with its slot.

use credgate_provider::{NodeId, Password, ProviderError, Slot};
use tokio::sync::oneshot;

/// A lookup that was handed over. Dropping it gives the slot back and leaves the caller without an answer.
pub(crate) struct Work {
    pub(crate) node: NodeId,
    slot: Slot,
    answer: oneshot::Sender<Result<Option<Password>, ProviderError>>,
}

impl Work {
    pub(crate) fn new(node: NodeId, slot: Slot) -> (Self, oneshot::Receiver<Result<Option<Password>, ProviderError>>) {
        let (answer, given) = oneshot::channel();
        (Self { node, slot, answer }, given)
    }

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// The Python call has ended: gives the slot back, then the answer.
    pub(crate) fn end(self, answer: Result<Option<Password>, ProviderError>) {
        drop(self.slot);
        // A caller that left needs no answer.
        let _ = self.answer.send(answer);
    }
}
