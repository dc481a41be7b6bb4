//! Limits of the process itself, set before anything is opened.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More descriptors cost nothing; the hard limit is what the administrator grants.
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "cannot raise the descriptor limit to the hard one");
    }
}

/// Memory holds every password in clear.
pub fn forbid_core_dumps() {
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }) {
        tracing::warn!(%error, "cannot forbid core dumps");
    }
}
