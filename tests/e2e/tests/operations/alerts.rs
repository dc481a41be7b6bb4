//! The alerts: promtool judges their syntax and runs their cases, and each has a section of the runbook.

use std::collections::BTreeSet;

use crate::ground::{promtool, repository, text};

const RULES: &str = "deploy/prometheus/credgate.rules.yml";

#[test]
fn promtool_agrees_and_every_case_holds() {
    let folder = repository("deploy/prometheus");
    let count = fields(&text(RULES), "- alert:").len();
    let said = promtool(&["check", "rules", "credgate.rules.yml"], &folder, "");
    assert!(said.contains(&format!("{count} rules found")), "{said}");
    promtool(&["test", "rules", "credgate.rules.test.yml"], &folder, "");
    promtool(&["check", "config", "prometheus.yml"], &folder, "");
}

#[test]
fn every_alert_has_a_case_that_fires_one_that_does_not_and_a_runbook_section() {
    let (rules, cases, runbook) =
        (text(RULES), text("deploy/prometheus/credgate.rules.test.yml"), text("docs/runbook.md"));
    for alert in fields(&rules, "- alert:") {
        assert!(cases.contains(&format!("name: {alert} fires\n")), "{alert}");
        assert!(cases.contains(&format!("name: {alert} is silent")), "{alert}");
        assert!(runbook.contains(alert), "{alert} is not in docs/runbook.md");
    }
    let sections: BTreeSet<String> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    for link in fields(&rules, "runbook:") {
        let (page, section) = link.split_once('#').unwrap();
        assert_eq!(page, "docs/runbook.md");
        assert!(sections.contains(section), "{link}: there are {sections:?}");
    }
}

/// As GitHub and most others make it.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn fields<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(key)).map(str::trim).collect()
}
