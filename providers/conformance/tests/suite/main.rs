//! The suite judged by providers that are wrong on purpose: each is caught, by the check that is about its fault.

#[cfg(test)]
mod memory;

use credgate_conformance::{assert_conforms, judge};
use futures::future::join_all;
use memory::{Memory, Wrong};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_provider_passes_every_check() {
    let verdict = judge(&Memory(Wrong::Nothing)).await;
    assert!(verdict.failed().is_empty() && verdict.not_applicable().is_empty(), "{verdict}");
    assert_eq!(verdict.to_string().lines().count(), verdict.findings.len() + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "FAILED  two rows for a node are corrupt: 2000: a password, not Corrupt")]
async fn a_wrong_provider_fails_the_assertion_with_the_table() {
    assert_conforms(&Memory(Wrong::FirstOfTwo)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_wrong_provider_is_caught_by_the_check_of_its_fault() {
    let verdicts = join_all(CAUGHT.iter().map(|(wrong, checks)| async move {
        let verdict = judge(&Memory(*wrong)).await;
        let failed = verdict.failed();
        (!checks.iter().all(|check| failed.contains(check))).then(|| format!("wanted: {checks:#?}\n{verdict}"))
    }));
    let wrong: Vec<String> = verdicts.await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What each provider does wrong, and the checks that must fail for it, whichever others do.
const CAUGHT: &[(Wrong, &[&str])] = &[
    (Wrong::AnotherRow, &["an unknown node gives None"]),
    (Wrong::CachesAnswers, &["a change of the store is seen at once"]),
    (
        Wrong::CheckAlwaysOk,
        &["a check fails while the backend refuses", "a check fails in time while the backend is silent"],
    ),
    (Wrong::CheckWaits, &["a check does not wait behind lookups"]),
    (Wrong::CorruptBeforeDisabled, &["disabled wins over a corrupt password"]),
    (Wrong::DropsSlotAtOnce, &["a slot is held while its lookup waits"]),
    (
        Wrong::DropsSlotWithCaller,
        &[
            "a slot is held by work whose caller has left, and comes back",
            "a slot is held by work past its deadline, and comes back",
        ],
    ),
    (Wrong::EmptyIsUsable, &["an empty password is corrupt", "a NULL password is corrupt"]),
    (Wrong::FirstEnabledRow, &["two rows for a node are corrupt even if one is disabled"]),
    (Wrong::FirstOfTwo, &["two rows for a node are corrupt"]),
    (Wrong::HangsInClose, &["close ends", "close ends while the backend is silent"]),
    (Wrong::IgnoresCase, &["node IDs that differ only in case are different nodes"]),
    (Wrong::IgnoresDeadline, &["a backend that is silent is an outage within the deadline, never None"]),
    (
        Wrong::KeepsSlot,
        &["a slot comes back when its lookup has ended", "the slots of callers that leave at any moment come back"],
    ),
    (Wrong::NoneForCorrupt, &["an empty password is corrupt", "a password that is too long is corrupt"]),
    (
        Wrong::NoneInOutage,
        &[
            "a backend that refuses is an outage, never None",
            "a backend that is silent is an outage within the deadline, never None",
        ],
    ),
    (Wrong::NullIsEnabled, &["enabled as NULL is corrupt"]),
    (Wrong::NumberPerNode, &["its own numbers are well named, and always the same ones"]),
    (
        Wrong::NumbersForIds,
        &[
            "node IDs with and without leading zeros are different nodes",
            "nothing in a node ID is a pattern or a number",
        ],
    ),
    (Wrong::PanicsOnUnknown, &["an unknown node gives None"]),
    (Wrong::PatternsForIds, &["nothing in a node ID is a pattern or a number"]),
    (Wrong::SameRowsAreOne, &["two rows for a node are corrupt even if they are the same"]),
    (Wrong::ServesDisabled, &["a disabled node gives None"]),
    (Wrong::ShowsPasswords, &["no error, refusal or summary shows a password"]),
    (Wrong::StaysDown, &["lookups and checks recover by themselves"]),
    (
        Wrong::TakesAnyPassword,
        &[
            "a password that is too long is corrupt",
            "a password with a control character is corrupt",
            "a password with other than ASCII is corrupt",
        ],
    ),
    (Wrong::TrimsIds, &["a stored node ID with a trailing blank is another node"]),
    (Wrong::TrimsPasswords, &["a known node gives exactly its password"]),
];
