//! The checks, in the order they run and are shown. Each name is the sentence that must hold.

mod answers;
mod corrupt;
mod life;
mod outage;
mod slots;

use credgate_provider::BoxFuture;

use crate::bench::{Bench, Stop};

/// One check.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) run: for<'b> fn(&'b Bench<'b>) -> BoxFuture<'b, Result<(), Stop>>,
}

macro_rules! checks {
    ($($name:literal => $room:ident::$check:ident,)*) => {
        &[$(Check { name: $name, run: |bench| Box::pin($room::$check(bench)) }),*]
    };
}

pub(crate) const CHECKS: &[Check] = checks! {
    "a known node gives exactly its password" => answers::exact,
    "an unknown node gives None" => answers::unknown,
    "a disabled node gives None" => answers::disabled,
    "node IDs with and without leading zeros are different nodes" => answers::zeros,
    "node IDs that differ only in case are different nodes" => answers::case,
    "a stored node ID with a trailing blank is another node" => answers::padding,
    "nothing in a node ID is a pattern or a number" => answers::patterns,
    "every word for enabled is understood in any case" => answers::words,
    "many lookups at once each get their own answer" => answers::many,
    "an empty password is corrupt" => corrupt::empty,
    "a password of nothing but spaces is corrupt" => corrupt::spaces,
    "a NULL password is corrupt" => corrupt::null,
    "a password that is too long is corrupt" => corrupt::long,
    "a password with a control character is corrupt" => corrupt::control,
    "a password with other than ASCII is corrupt" => corrupt::foreign,
    "two rows for a node are corrupt" => corrupt::two_rows,
    "two rows for a node are corrupt even if they are the same" => corrupt::same_rows,
    "two rows for a node are corrupt even if one is disabled" => corrupt::disabled_row,
    "disabled wins over a corrupt password" => corrupt::disabled_wins,
    "enabled as NULL is corrupt" => corrupt::enabled_null,
    "enabled as another word is corrupt" => corrupt::enabled_odd,
    "a change of the store is seen at once" => life::change,
    "a check of a healthy backend is Ok" => outage::healthy,
    "a backend that refuses is an outage, never None" => outage::refusing,
    "a backend that is silent is an outage within the deadline, never None" => outage::silent,
    "a check fails while the backend refuses" => outage::check_refusing,
    "a check fails in time while the backend is silent" => outage::check_silent,
    "lookups and checks recover by themselves" => outage::recovery,
    "a slot comes back when its lookup has ended" => slots::comes_back,
    "the slots of callers that leave at any moment come back" => slots::callers_leave,
    "a slot is held while its lookup waits" => slots::held,
    "a slot is held by work whose caller has left, and comes back" => slots::caller_left,
    "a slot is held by work past its deadline, and comes back" => slots::past_deadline,
    "a check does not wait behind lookups" => slots::check_passes,
    "a deadline that has passed ends the lookup, and is never None for a known node" => life::passed,
    "its own numbers are well named, and always the same ones" => life::numbers,
    "close ends" => life::close,
    "close ends while the backend is silent" => life::close_silent,
};
