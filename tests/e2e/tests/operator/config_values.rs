//! Values out of range, words that are not known, values that contradict each other, and warnings.

use std::process::Command;

use credgate_support::process::Process;

use crate::refusal::{BOUND, Sample, on};

#[test]
fn a_value_out_of_range_is_answered_with_the_range() {
    let sample = Sample::new();
    for (from, to, key, range) in [
        ("timeout = \"2s\"", "timeout = \"5ms\"", "lookup.timeout", "10ms to 1m"),
        ("timeout = \"2s\"", "timeout = \"61s\"", "lookup.timeout", "10ms to 1m"),
        ("queue = 1024", "queue = 1000001", "lookup.queue", "0 to 1000000"),
        ("queue = 1024", "slots = 0", "lookup.slots", "1 to 1000000"),
        ("max_length = 10", "max_length = 0", "lookup.node_id.max_length", "1 to 10"),
        ("max_length = 10", "max_length = 11", "lookup.node_id.max_length", "1 to 10"),
        ("max_bytes = 79", "max_bytes = 256", "lookup.password.max_bytes", "1 to 255"),
        ("handshakes = 256", "handshakes = 0", "limits.handshakes", "1 to 100000"),
        ("handshakes = 256", "connections = 0", "limits.connections", "1 to 1000000"),
        ("handshakes = 256", "connections_per_source = 0", "limits.connections_per_source", "1 to 1000000"),
        ("handshakes = 256", "handshake_timeout = \"99ms\"", "limits.handshake_timeout", "100ms to 1m"),
        ("handshakes = 256", "authentication_timeout = \"61s\"", "limits.authentication_timeout", "100ms to 1m"),
        ("handshakes = 256", "failed_authentications = 0", "limits.failed_authentications", "1 to 1000000"),
        ("handshakes = 256", "streams_per_connection = 0", "limits.streams_per_connection", "1 to 100000"),
        ("handshakes = 256", "max_connection_age = \"999ms\"", "limits.max_connection_age", "1s to 30days"),
        ("open_timeout = \"30s\"", "open_timeout = \"2h\"", "provider.open_timeout", "10ms to 1h"),
        ("interval = \"5s\"", "interval = \"49ms\"", "health.interval", "50ms to 1h"),
        ("interval = \"5s\"", "watches = 1000001", "health.watches", "0 to 1000000"),
        ("interval = \"5s\"", "watch_max_age = \"25h\"", "health.watch_max_age", "1s to 1day"),
        ("drain_timeout = \"5s\"", "close_timeout = \"3601s\"", "shutdown.close_timeout", "0s to 1h"),
    ] {
        let text = sample.with(from, to);
        let words = format!("is out of range; allowed are {range}");
        sample.refused(&text).says(&[(to, key, &words)]);
    }
}

#[test]
fn both_ends_of_a_range_are_in_it() {
    let sample = Sample::new();
    for (from, to) in [
        ("timeout = \"2s\"", "timeout = \"10ms\""),
        ("timeout = \"2s\"\n", "timeout = \"60s\"\nslots = 1024\n"),
        ("queue = 1024", "queue = 0"),
        ("max_bytes = 79", "max_bytes = 255"),
        ("grammar = \"digits\", max_length = 10", "grammar = \"token\", max_length = 64"),
    ] {
        let warnings = sample.accepted(&sample.with(from, to));
        assert!(warnings.len() <= usize::from(to.contains("60s")), "{to}: {warnings:?}");
    }
}

#[test]
fn a_word_that_is_not_known_is_answered_with_those_that_are() {
    let sample = Sample::new();
    for (from, to, key, words) in [
        (
            "grammar = \"digits\"",
            "grammar = \"digit\"",
            "lookup.node_id.grammar",
            "knows only digits, token; did you mean \"digits\"?",
        ),
        ("role = \"registrar\"", "role = \"admin\"", "identity[0].role", "knows only registrar, probe"),
        (
            "role = \"probe\"",
            "role = \"Probe\"",
            "identity[1].role",
            "knows only registrar, probe; did you mean \"probe\"?",
        ),
        ("format = \"json\"", "format = \"jsn\"", "log.format", "knows only text, json; did you mean \"json\"?"),
        ("format = \"json\"", "level = \"verbose\"", "log.level", "knows only info, error, warn, debug, trace"),
    ] {
        let text = sample.with(from, to);
        sample.refused(&text).says(&[(to, key, words)]);
    }
}

#[test]
fn zero_in_a_rate_limit_is_refused_with_the_way_to_switch_it_off() {
    let sample = Sample::new();
    for (change, key) in [("per_second = 0, burst = 5", "per_second"), ("per_second = 5, burst = 0", "burst")] {
        let text = sample.with("per_second = 100000, burst = 200000", change);
        let words = "must be at least 1; leave the limit out to switch it off";
        sample.refused(&text).says(&[("global", &format!("rate.global.{key}"), words)]);
    }
    let both = sample.with("per_second = 100000, burst = 200000", "per_second = 0, burst = 0");
    assert_eq!(sample.refused(&both).errors.len(), 2);
}

#[test]
fn health_that_would_flap_with_a_healthy_store_is_refused() {
    let sample = Sample::new();
    let words = "is shorter than interval + timeout";
    let text = sample.with("max_age = \"15s\"", "max_age = \"6999ms\"");
    sample.refused(&text).says(&[("max_age", "health.max_age", words)]);
    assert_eq!(sample.accepted(&sample.with("max_age = \"15s\"", "max_age = \"7s\"")), [""; 0]);
}

#[test]
fn a_drain_shorter_than_a_lookup_is_a_warning() {
    let sample = Sample::new();
    let warnings = sample.accepted(&sample.with("drain_timeout = \"5s\"", "drain_timeout = \"1s\""));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(": shutdown.drain_timeout: is shorter than lookup.timeout"), "{warnings:?}");

    let text = sample.with_all(&[("drain_timeout = \"5s\"", "drain_timeout = \"1s\""), ("queue = 1024", "queue = -1")]);
    let refusal = sample.refused(&text);
    assert_eq!((&refusal.warnings, refusal.errors.len()), (&warnings, 1), "beside an error it is told too");
}

#[test]
fn more_slots_than_the_provider_can_do_are_refused() {
    let sample = Sample::new();
    let text = sample.with("queue = 1024", "slots = 1025");
    sample.refused(&text).says(&[("slots", "lookup.slots", "is more than the provider can do at once, which is 1024")]);
    assert_eq!(sample.accepted(&sample.with("queue = 1024", "slots = 1024")), [""; 0]);
}

#[test]
fn caps_that_the_system_cannot_carry_are_refused() {
    let sample = Sample::new();
    sample.accepted(sample.text());
    let path = sample.deployment.path("credgate.toml");
    let limited = |descriptors: &str| {
        let check = on(&path, "check-config");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]);
        shell.arg(check.get_program()).args(check.get_args());
        Process::run(shell, BOUND)
    };
    let few = limited("1000");
    assert_eq!(few.exit.code, Some(78), "{}", few.stderr);
    let sentence = "limits.connections: and control.connections need 4864 descriptors, and the system grants 1000";
    assert!(few.stderr.contains(sentence) && few.stderr.contains("ulimit -Hn"), "{}", few.stderr);
    assert_eq!(limited("4864").exit.code, Some(0));
    assert_eq!(limited("4863").exit.code, Some(78));
}
