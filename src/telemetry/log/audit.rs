//! The audit line: a credential was delivered, when, to whom, for which node. Off unless `log.audit` is true.
//!
//! The only place where node IDs are shown. It is written when the connection takes the answer to send it, after which
//! nothing of ours can stop it: no password leaves without a line. A line does not prove that the registrar received
//! the answer, since gRPC has no receipt; a connection that broke at that moment has one line too many.

use credgate_provider::NodeId;

/// Marks the lines, and lets them through whatever `log.level` is.
pub const TARGET: &str = "credgate::audit";

/// A line that waits for its answer to be taken.
#[derive(Debug)]
pub struct Delivery {
    /// The identity's name in the configuration.
    pub registrar: String,
    /// Which node it asked for.
    pub node: NodeId,
}

impl Delivery {
    /// The answer is on its way. The time of the line is that of the delivery.
    pub fn happened(self) {
        let (registrar, node) = (&*self.registrar, self.node.as_str());
        tracing::info!(target: TARGET, registrar, node, "credential delivered");
    }
}
