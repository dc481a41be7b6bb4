//! Log lines without what changes from run to run, and their comparison with those that are kept.

use credgate_support::{deployment::Deployment, process::Line};
use serde_json::Value;

/// Each line as `LEVEL message field=value …`, without its time, addresses, counts and folders.
pub fn shown(lines: &[Line], deployment: &Deployment) -> Vec<String> {
    let folder = deployment.dir().to_str().unwrap();
    lines.iter().map(|line| line_of(line, folder)).collect()
}

fn line_of(line: &Line, folder: &str) -> String {
    let object = line.json().as_object().unwrap_or_else(|| panic!("not JSON: {}", line.text));
    let level = line.field("level").unwrap();
    let mut text = format!("{level} {}", line.field("message").unwrap());
    for (key, value) in object {
        let value = match (key.as_str(), value) {
            ("timestamp" | "level" | "message" | "target" | "more" | "failures", _) => continue,
            ("address" | "peer", _) => "ADDRESS".into(),
            ("changed" | "summary" | "version", _) => "…".into(),
            (_, Value::String(text)) => text.replace(folder, "DIR"),
            (_, other) => other.to_string(),
        };
        text += &format!(" {key}={value}");
    }
    text
}

/// Every line of the run is kept, and every kept line came, but for those that need not come.
#[track_caller]
pub fn fits(lines: &[String], kept: &str) {
    if std::env::var_os("CREDGATE_SHOW_LOG").is_some() {
        let mut known = std::collections::BTreeSet::new();
        lines.iter().filter(|line| known.insert(*line)).for_each(|line| println!("{line}"));
        return;
    }
    let kept: Vec<(bool, &str)> = kept
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.strip_prefix("~ ").map_or((true, line), |line| (false, line)))
        .collect();
    for line in lines {
        assert!(kept.iter().any(|(_, pattern)| matches(pattern, line)), "a line that is not kept: {line}");
    }
    for (_, pattern) in kept.iter().filter(|(must, _)| *must) {
        assert!(lines.iter().any(|line| matches(pattern, line)), "did not come: {pattern}\n{}", lines.join("\n"));
    }
}

/// `*` is any text.
pub fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn a_pattern_is_of_a_whole_line() {
    assert!(matches("a * c", "a b b c") && matches("a", "a") && matches("a*", "ab") && matches("*b*d", "abcd"));
    assert!(!matches("a * c", "a b d") && !matches("a", "ab") && !matches("b*", "ab"));
}
