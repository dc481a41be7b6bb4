//! `[limits]` of the lookup listener, and `[control]`: the control listener with limits of its own.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use credgate_provider::settings::Section;
use rustix::process::{Resource, getrlimit};

use crate::door::Limits;

const LOOKUP: Limits = Limits {
    connections: 4096,
    connections_per_source: 1024,
    handshakes: 256,
    handshake_timeout: Duration::from_secs(5),
    authentication_timeout: Duration::from_secs(10),
    failed_authentications: 8,
    streams_per_connection: 256,
    // As many as the streams: a client that gives up on everything at once is no flood.
    pending_resets: 256,
    max_connection_age: None,
};

/// Probes are few; what is kept apart for them must not be eaten up by others either.
const CONTROL: Limits = Limits {
    connections: 512,
    connections_per_source: 256,
    handshakes: 64,
    streams_per_connection: 64,
    pending_resets: 64,
    ..LOOKUP
};

const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);
const AGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30 * 24 * 3600);

/// Descriptors that are not connections: listeners, log, files, database connections and the runtime's own.
const OTHER_DESCRIPTORS: u64 = 256;

pub fn lookup(section: &Section<'_>) -> Limits {
    let limits = read(section, LOOKUP);
    section.finish();
    limits
}

pub fn control(section: &Section<'_>) -> (Option<SocketAddr>, Limits) {
    let listen = section.required("listen");
    let limits = read(section, CONTROL);
    section.finish();
    (listen, limits)
}

fn read(section: &Section<'_>, default: Limits) -> Limits {
    Limits {
        connections: section.within("connections", default.connections, 1..=1_000_000),
        connections_per_source: section.within("connections_per_source", default.connections_per_source, 1..=1_000_000),
        handshakes: section.within("handshakes", default.handshakes, 1..=100_000),
        handshake_timeout: section.within("handshake_timeout", default.handshake_timeout, TIMEOUT),
        authentication_timeout: section.within("authentication_timeout", default.authentication_timeout, TIMEOUT),
        failed_authentications: section.within("failed_authentications", default.failed_authentications, 1..=1_000_000),
        streams_per_connection: section.within("streams_per_connection", default.streams_per_connection, 1..=100_000),
        pending_resets: section.within("pending_resets", default.pending_resets, 1..=100_000),
        max_connection_age: section.optional_within("max_connection_age", AGE),
    }
}

/// Each connection takes a descriptor, so the caps must fit what the system grants us at most.
pub fn fit_descriptors(root: &Section<'_>, lookup: &Limits, control: &Limits) {
    let Some(granted) = getrlimit(Resource::Nofile).maximum else { return };
    let connections = lookup.connections.saturating_add(control.connections);
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHER_DESCRIPTORS);
    if wanted > granted {
        root.section("limits").problem(
            "connections",
            format!(
                "and control.connections need {wanted} descriptors, and the system grants {granted}; lower them or raise \
                 the limit (ulimit -Hn, LimitNOFILE= of systemd)"
            ),
        );
    }
}
