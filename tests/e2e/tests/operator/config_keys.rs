//! Keys: misspelt, unknown, missing, of the wrong type.

use crate::refusal::Sample;

#[test]
fn the_sample_itself_is_good() {
    let sample = Sample::new();
    assert_eq!(sample.accepted(sample.text()), [""; 0]);
    let check = sample.run("check-config", sample.text());
    assert!(check.stdout.contains("stops within 8s of SIGTERM"), "{}", check.stdout);
}

#[test]
fn a_misspelt_key_is_told_with_its_line_and_the_right_word() {
    let sample = Sample::new();
    for (from, to, key, meant) in [
        ("[limits]", "[limit]", "limit", "limits"),
        ("timeout = \"2s\"", "timout = \"2s\"", "lookup.timout", "timeout"),
        ("max_length = 10", "maxlength = 10", "lookup.node_id.maxlength", "max_length"),
        ("max_bytes = 79", "max_byte = 79", "lookup.password.max_byte", "max_bytes"),
        ("handshakes = 256", "handshake = 256", "limits.handshake", "handshakes"),
        ("# control", "\nconections = 5", "control.conections", "connections"),
        ("[tls]", "[tls]\nclientca = \"ca.pem\"", "tls.clientca", "client_ca"),
        ("role = \"probe\"", "role = \"probe\"\nsans = []", "identity[1].sans", "san"),
        ("[rate]", "[rate]\nsources = {}", "rate.sources", "source"),
        ("burst = 200000", "bursts = 200000", "rate.global.bursts", "burst"),
        ("open_timeout = \"30s\"", "opentimeout = \"30s\"", "provider.opentimeout", "open_timeout"),
        ("[provider.csv]", "[provider.csv]\ndelimeter = \";\"", "provider.csv.delimeter", "delimiter"),
        ("interval = \"5s\"", "intervall = \"5s\"", "health.intervall", "interval"),
        ("drain_timeout = \"5s\"", "drain_timeouts = \"5s\"", "shutdown.drain_timeouts", "drain_timeout"),
        ("# metrics", "\nlisten_ = 1", "metrics.listen_", "listen"),
        ("format = \"json\"", "formats = \"json\"", "log.formats", "format"),
    ] {
        let text = sample.with(from, to);
        let anchor = to.trim_start().rsplit('\n').next().unwrap();
        let words = format!("is not a setting; did you mean \"{meant}\"?");
        sample.refused(&text).says(&[(anchor, key, &words)]);
    }
}

#[test]
fn a_key_that_is_like_no_other_is_answered_with_those_there_are() {
    let sample = Sample::new();
    let text = sample.with("format = \"json\"", "destination = \"file\"");
    let words = "is not a setting; known here: audit, format, level";
    sample.refused(&text).says(&[("destination", "log.destination", words)]);
}

#[test]
fn what_must_be_there_and_is_not_is_told_where_it_belongs() {
    let sample = Sample::new();
    for (from, to, anchor, key, words) in [
        ("listen = \"127.0.0.1:0\"\ntimeout", "timeout", "[lookup]", "lookup.listen", "expected an address and port"),
        ("listen = \"127.0.0.1:0\" # control", "", "[control]", "control.listen", "expected an address and port"),
        ("[control]\nlisten = \"127.0.0.1:0\" # control", "", "", "control.listen", "is missing"),
        ("cert = \"server.pem\"", "", "[tls]", "tls.cert", "expected the path of a PEM file"),
        ("key = \"server.key\"", "", "[tls]", "tls.key", "expected the path of a PEM file"),
        ("name = \"registrar-east\"", "", "[[identity]]", "identity[0].name", "is missing; expected text"),
        (
            "role = \"probe\"",
            "",
            "[[identity]]\nname = \"probe\"",
            "identity[1].role",
            "\"registrar\" (lookups and health)",
        ),
        ("kind = \"csv\"\n", "", "[provider]", "provider.kind", "is missing; expected text"),
        ("path = \"nodes.csv\"", "", "[provider.csv]", "provider.csv.path", "is missing; expected text"),
        ("per_second = 100000, ", "", "global", "rate.global.per_second", "expected a whole number"),
        ("listen = \"127.0.0.1:0\" # metrics", "", "[metrics]", "metrics.listen", "leave [metrics] out"),
    ] {
        let text = sample.with(from, to);
        let refusal = sample.refused(&text);
        refusal.says(&[(anchor, key, words)]);
        assert!(refusal.errors[0].contains("missing"), "{}", refusal.whole);
    }
}

#[test]
fn a_value_of_the_wrong_type_is_answered_with_what_is_expected() {
    let sample = Sample::new();
    let duration = "expected a duration in quotes, such as \"500ms\"";
    for (from, to, key, words) in [
        (
            "listen = \"127.0.0.1:0\"\ntimeout",
            "listen = 7443\ntimeout",
            "lookup.listen",
            "expected an address and port",
        ),
        (
            "listen = \"127.0.0.1:0\"\ntimeout",
            "listen = \"localhost:7443\"\ntimeout",
            "lookup.listen",
            "\"127.0.0.1:7443\"",
        ),
        ("timeout = \"2s\"", "timeout = 2", "lookup.timeout", duration),
        ("timeout = \"2s\"", "timeout = \"2\"", "lookup.timeout", duration),
        ("timeout = \"2s\"", "timeout = \"-2s\"", "lookup.timeout", duration),
        ("queue = 1024", "queue = \"1024\"", "lookup.queue", "expected a whole number"),
        ("queue = 1024", "queue = 10.5", "lookup.queue", "expected a whole number"),
        ("queue = 1024", "queue = -1", "lookup.queue", "must not be negative"),
        (
            "node_id = { grammar = \"digits\", max_length = 10 }",
            "node_id = \"digits\"",
            "lookup.node_id",
            "expected a table",
        ),
        ("cert = \"server.pem\"", "cert = 1", "tls.cert", "expected text"),
        (
            "cert = \"server.pem\"",
            "insecure_plaintext = \"no\"\ncert = \"server.pem\"",
            "tls.insecure_plaintext",
            "expected true or false",
        ),
        (
            "san = [\"probe.example.net\"]",
            "san = \"probe.example.net\"",
            "identity[1].san",
            "expected a list in brackets",
        ),
        ("san = [\"probe.example.net\"]", "san = [7]", "identity[1].san", "entry 1: expected text"),
        (
            "per_second = 100000",
            "per_second = 4294967296",
            "rate.global.per_second",
            "is too large; the most is 4294967295",
        ),
        ("path = \"nodes.csv\"", "path = [\"nodes.csv\"]", "provider.csv.path", "expected text"),
        ("path = \"nodes.csv\"", "header = 1\npath = \"nodes.csv\"", "provider.csv.header", "expected true or false"),
        ("format = \"json\"", "format = true", "log.format", "expected text"),
    ] {
        let text = sample.with(from, to);
        let anchor = to.lines().next().unwrap();
        sample.refused(&text).says(&[(anchor, key, words)]);
    }
}

#[test]
fn one_table_where_a_list_of_tables_belongs_is_told_so() {
    let sample = Sample::new();
    let identities = sample.text().find("[[identity]]").unwrap()..sample.text().find("[rate]").unwrap();
    let mut text = sample.text().to_owned();
    text.replace_range(identities, "[identity]\nname = \"registrar-east\"\n");
    let refusal = sample.refused(&text);
    let one = "expected tables, each headed [[identity]]";
    refusal.says(&[("[identity]", "identity", one), ("[identity]", "identity", "there is none, so nobody could call")]);
}
