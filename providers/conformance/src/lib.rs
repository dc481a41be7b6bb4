//! One suite that judges every provider by the contract of `credgate-provider`.
//!
//! A provider's own tests say how a store with given rows is made, and what can be done to it: that is a [`Subject`].
//! [`judge`] makes many such stores, asks each in turn, and returns a [`Verdict`]: every check by name, passed, failed,
//! or not applicable with the reason. [`assert_conforms`] is the same as a test's last line.
//!
//! ```text
//! judge ─ Subject::make(rows) ─▶ Store ─ provider() ─▶ lookup │ check │ close
//!                                  └─ change │ disturb │ heal │ running
//! ```
//!
//! A provider may refuse at start what another finds at the lookup: a store with a corrupt row that does not open is as
//! good as one that answers `Corrupt`. What is never good: a password that is not exactly the node's, `None` for
//! anything but "no such node, or disabled", and a text that shows a password.
//!
//! It runs in real time on a multi-thread tokio runtime and takes seconds: outages are waited for.
//!
//! Reading order: [`Subject`], [`Store`], [`judge`], then the checks, which are one list.

mod bench;
mod checks;
mod judge;
mod subject;
mod trial;
mod verdict;

pub use judge::{assert_conforms, judge};
pub use subject::{Disturbance, Made, NotApplicable, Row, Store, Subject};
pub use verdict::{Ending, Finding, Verdict};
