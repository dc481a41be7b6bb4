//! What the provider can be told to do, as it stands on the line.

use serde::{Deserialize, Serialize};

/// How a lookup goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Behaviour {
    /// Answers with a stored password; one that breaks the gateway's rule is a corrupt record.
    Password {
        /// The stored text.
        text: String,
    },
    /// The same for bytes that are no text.
    Bytes {
        /// The stored bytes.
        bytes: Vec<u8>,
    },
    /// No such node.
    #[default]
    None,
    /// Fails: the store cannot be asked.
    Unavailable,
    /// Fails: the store did not answer in time.
    TimedOut,
    /// Fails: the record cannot be used.
    Corrupt,
    /// Fails: the provider's own fault.
    Defect,
    /// Panics.
    Panic,
    /// Waits inside the call, then goes on; gives up at the deadline, and ends with its caller.
    Delay {
        /// Milliseconds.
        ms: u64,
        /// What follows.
        then: Box<Behaviour>,
    },
    /// Waits in a task of its own that keeps the slot: neither deadline nor caller ends it.
    Work {
        /// Milliseconds.
        ms: u64,
        /// What follows.
        then: Box<Behaviour>,
    },
    /// Never ends, whatever the deadline says; the slot returns when the caller drops the call.
    Hang,
    /// Never ends, and a thread of its own keeps the slot until it is released; then there is no such node.
    Hold,
    /// Keeps the runtime's thread busy, then goes on.
    Burn {
        /// Milliseconds.
        ms: u64,
        /// What follows.
        then: Box<Behaviour>,
    },
    /// Blocks the runtime's thread until it is released; then there is no such node.
    Block,
}

/// How a check goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum CheckBehaviour {
    /// Succeeds.
    #[default]
    Ok,
    /// Fails: the store cannot be asked.
    Fail,
    /// Fails: the provider's own fault.
    Defect,
    /// Never ends, whatever the deadline says.
    Hang,
    /// Succeeds later; gives up at the deadline.
    Delay {
        /// Milliseconds.
        ms: u64,
    },
    /// Panics.
    Panic,
}

/// How closing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum CloseBehaviour {
    /// At once.
    #[default]
    Ok,
    /// Never ends.
    Hang,
    /// Panics.
    Panic,
}

/// One line from the test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// For nodes without a behaviour of their own.
    Default {
        /// Theirs from now on.
        behaviour: Behaviour,
    },
    /// For one node.
    Node {
        /// Its ID.
        node: String,
        /// Its behaviour from now on; absent, the default holds again.
        behaviour: Option<Behaviour>,
    },
    /// For checks.
    Check {
        /// Theirs from now on.
        behaviour: CheckBehaviour,
    },
    /// For closing.
    Close {
        /// How it will go.
        behaviour: CloseBehaviour,
    },
    /// Lets held lookups go, now or when they come; absent, all that are held now.
    Release {
        /// How many.
        count: Option<usize>,
    },
    /// Asks for the counts.
    Counts,
    /// Asks for the counts once they are others than those of `version`, or `within_ms` has passed.
    Changed {
        /// What the test has seen.
        version: u64,
        /// Milliseconds.
        within_ms: u64,
    },
}

impl Behaviour {
    /// Answers with a password.
    pub fn password(text: &str) -> Self {
        Self::Password { text: text.into() }
    }

    /// This, after a wait inside the call.
    pub fn delayed(self, ms: u64) -> Self {
        Self::Delay { ms, then: Box::new(self) }
    }

    /// This, after work that keeps its slot whatever happens to the caller.
    pub fn worked(self, ms: u64) -> Self {
        Self::Work { ms, then: Box::new(self) }
    }

    /// This, after the runtime's thread was kept busy.
    pub fn burned(self, ms: u64) -> Self {
        Self::Burn { ms, then: Box::new(self) }
    }
}
