//! What the runbook lets somebody conclude who sees two metrics pages and the log, and nothing else.

use credgate_support::metrics::Metrics;

use crate::ground::text;

/// What grew between the pages, or is on in the later one; what must stand in the log beside it; the conclusion; and the
/// section of the runbook that says so.
struct Rule {
    grew: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    is_on: &'static [&'static str],
    line: &'static str,
    cause: &'static str,
    section: &'static str,
}

const RULES: [Rule; 5] = [
    Rule {
        grew: &[
            ("credgate_rpcs_total", &[("code", "UNAVAILABLE"), ("reason", "BACKEND_UNAVAILABLE")]),
            ("credgate_backend_checks_total", &[("result", "failed")]),
        ],
        is_on: &["credgate_outage"],
        line: "WARN backend check failed",
        cause: "the store does not answer",
        section: "UNAVAILABLE",
    },
    Rule {
        grew: &[("credgate_authentication_failures_total", &[("cause", "unknown_token")])],
        is_on: &[],
        line: "WARN authentication failed cause=unknown_token",
        cause: "a caller has an unknown token",
        section: "UNAUTHENTICATED",
    },
    Rule {
        grew: &[("credgate_connections_failed_total", &[("listener", "lookup"), ("cause", "certificate_expired")])],
        is_on: &[],
        line: "WARN connection failed cause=certificate_expired",
        cause: "a caller's certificate is expired",
        section: "UNAUTHENTICATED",
    },
    Rule {
        grew: &[("credgate_rpcs_total", &[("code", "INTERNAL"), ("reason", "PROVIDER_DEFECT")])],
        is_on: &[],
        line: "ERROR lookup failed code=INTERNAL detail=provider defect: the plugin raised KeyError at",
        cause: "the plugin has a bug",
        section: "INTERNAL",
    },
    Rule {
        grew: &[("credgate_rpcs_total", &[("reason", "BACKEND_TIMEOUT")])],
        is_on: &["credgate_stuck", "credgate_slots_overdue"],
        line: "WARN lookup failed code=UNAVAILABLE detail=backend timed out: the plugin did not answer",
        cause: "the plugin does not return",
        section: "Stuck",
    },
];

/// Every cause that the pages and the log lead to.
pub fn causes(lines: &[String], before: &Metrics, after: &Metrics) -> Vec<&'static str> {
    let applies = |rule: &&Rule| {
        rule.grew.iter().all(|(name, labels)| after.sum(name, labels) > before.sum(name, labels))
            && rule.is_on.iter().all(|name| after.sum(name, &[]) > 0.0)
            && lines.iter().any(|line| line.starts_with(rule.line))
    };
    RULES.iter().filter(applies).map(|rule| rule.cause).collect()
}

/// Each kept line of a warning or an error is explained: a phrase of the runbook stands in it.
#[test]
fn the_runbook_explains_every_line_of_the_incident() {
    let runbook = text("docs/runbook.md");
    let phrases: Vec<&str> = runbook.split('`').skip(1).step_by(2).filter(|phrase| phrase.len() > 8).collect();
    let kept = [include_str!("database.log"), include_str!("plugin.log")].concat();
    for line in kept.lines().map(|line| line.trim_start_matches("~ ")) {
        if line.starts_with("WARN") || line.starts_with("ERROR") {
            assert!(phrases.iter().any(|phrase| line.contains(phrase)), "docs/runbook.md does not explain: {line}");
        }
    }
}

/// The metrics, reasons and causes that a rule goes by are in its section.
#[test]
fn the_runbook_says_what_these_rules_say() {
    let runbook = text("docs/runbook.md");
    for rule in RULES {
        let (_, section) = runbook.split_once(&format!("\n## {}\n", rule.section)).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let words =
            rule.grew.iter().flat_map(|(_, labels)| labels.iter()).filter(|(key, _)| ["reason", "cause"].contains(key));
        for (_, word) in words {
            assert!(section.contains(word), "{word} is not in {}", rule.section);
        }
    }
}
