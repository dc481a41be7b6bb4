//! Which column holds what: found by name, in the file's header or in the setting `columns`.
//!
//! The order is free and other columns are ignored. A header that lacks a column is answered with the names it does
//! have, unless it may be no header at all: the first line of a headerless file holds a password.

use credgate_provider::settings::suggestion;

/// The names under which the columns are looked for: the settings `node_id_column` and so on.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) node_id: String,
    pub(crate) password: String,
    pub(crate) enabled: String,
    /// It must be there when its name was set.
    pub(crate) enabled_required: bool,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            node_id: "node_id".into(),
            password: "password".into(),
            enabled: "enabled".into(),
            enabled_required: false,
        }
    }
}

/// Where the columns stand, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) count: usize,
    pub(crate) node_id: usize,
    pub(crate) password: usize,
    pub(crate) enabled: Option<usize>,
}

impl Columns {
    /// Finds the columns among the names of a header, or says everything that is wrong with it.
    pub(crate) fn of_header(found: &[String], wanted: &Names) -> Result<Self, Vec<String>> {
        Self::find(found, wanted, is_header(found, wanted))
    }

    /// Finds the columns among names from the configuration.
    pub(crate) fn of_setting(found: &[String], wanted: &Names) -> Result<Self, Vec<String>> {
        Self::find(found, wanted, true)
    }

    fn find(found: &[String], wanted: &Names, may_show: bool) -> Result<Self, Vec<String>> {
        let mut faults = repeated(found);
        let position = |name: &str| found.iter().position(|other| other == name);
        let (node_id, password) = (position(&wanted.node_id), position(&wanted.password));
        let enabled = position(&wanted.enabled);
        for (place, name, setting) in
            [(node_id, &wanted.node_id, "node_id_column"), (password, &wanted.password, "password_column")]
        {
            if place.is_none() {
                faults.push(missing(name, setting, found, may_show));
            }
        }
        if enabled.is_none() && wanted.enabled_required {
            faults.push(missing(&wanted.enabled, "enabled_column", found, may_show));
        } else if enabled.is_none() && found.iter().any(|name| name.trim().eq_ignore_ascii_case(&wanted.enabled)) {
            // Taken for just another column, it would leave disabled nodes enabled.
            faults.push(format!(
                "has a column that differs from \"{}\" only in case or blanks; rename it, or name it in enabled_column",
                wanted.enabled
            ));
        }
        match (node_id, password) {
            (Some(node_id), Some(password)) if faults.is_empty() => {
                Ok(Self { count: found.len(), node_id, password, enabled })
            }
            _ => Err(faults),
        }
    }
}

/// Two columns of one name, told by position: in a headerless file the names are values. Unnamed columns, which
/// spreadsheets append, are nobody's.
fn repeated(found: &[String]) -> Vec<String> {
    let earlier = |position: usize, name: &String| found[..position].iter().position(|other| other == name);
    found
        .iter()
        .enumerate()
        .filter(|(_, name)| !name.is_empty())
        .filter_map(|(position, name)| earlier(position, name).map(|first| (first + 1, position + 1)))
        .map(|(first, second)| format!("has the same name for columns {first} and {second}"))
        .collect()
}

fn missing(name: &str, setting: &str, found: &[String], may_show: bool) -> String {
    let lacks = format!("has no column \"{name}\" (provider.csv.{setting})");
    if !may_show {
        return format!(
            "{lacks}; it reads like no header, so it is not shown; a file without one needs header = false and columns"
        );
    }
    let names: Vec<String> = found.iter().map(|name| format!("\"{}\"", name.escape_debug())).collect();
    let known: Vec<&str> = found.iter().map(String::as_str).collect();
    format!("{lacks}; its columns are {}{}", names.join(", "), suggestion(name, &known))
}

/// Whether the names are surely names, so that showing them shows no password: one of them is wanted or usual, and none
/// is a number.
fn is_header(found: &[String], wanted: &Names) -> bool {
    let is_number = |name: &String| !name.is_empty() && name.trim().bytes().all(|byte| byte.is_ascii_digit());
    let is_wanted = |name: &String| [&wanted.node_id, &wanted.password, &wanted.enabled].contains(&name);
    let is_usual = |name: &String| {
        name.split(['_', '-', ' ', '.']).all(|word| USUAL.iter().any(|usual| word.eq_ignore_ascii_case(usual)))
    };
    !found.iter().any(is_number) && found.iter().any(|name| is_wanted(name) || is_usual(name))
}

/// Words that name columns in the node lists of registrars and PBXes.
const USUAL: [&str; 24] = [
    "account",
    "active",
    "allowed",
    "callsign",
    "disabled",
    "enabled",
    "ext",
    "extension",
    "id",
    "key",
    "login",
    "name",
    "node",
    "nodeid",
    "number",
    "pass",
    "passwd",
    "password",
    "peer",
    "pw",
    "pwd",
    "secret",
    "user",
    "username",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn find(found: &[&str]) -> Result<Columns, Vec<String>> {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        Columns::of_header(&found, &Names::default())
    }

    #[test]
    fn order_is_free_and_other_columns_are_ignored() {
        let columns = find(&["note", "password", "enabled", "", "node_id", ""]);
        assert_eq!(columns, Ok(Columns { count: 6, node_id: 4, password: 1, enabled: Some(2) }));
        assert_eq!(find(&["node_id", "password"]).map(|columns| columns.enabled), Ok(None));
    }

    #[test]
    fn a_wrong_header_is_answered_with_the_names_it_has() {
        let faults = find(&["node_id", "pasword", "note"]).unwrap_err();
        assert_eq!(
            faults,
            [
                r#"has no column "password" (provider.csv.password_column); its columns are "node_id", "pasword", "note"; did you mean "pasword"?"#
            ]
        );
        let faults = find(&["user", "secret"]).unwrap_err();
        assert_eq!(faults.len(), 2);
        assert!(faults[0].contains(r#""user", "secret""#) && faults[0].contains("node_id_column"), "{faults:?}");
        assert_eq!(find(&["node_id", "password", "a", "a"]).unwrap_err(), ["has the same name for columns 3 and 4"]);
        assert!(find(&["node_id", "password", " Enabled"]).unwrap_err()[0].contains("enabled_column"));
    }

    #[test]
    fn a_row_in_place_of_the_header_is_not_shown() {
        for row in
            [&["2000", "canary"][..], &["alice", "canary"], &["canary", "canary"], &["2000", "canary", "enabled"]]
        {
            let faults = find(row).unwrap_err().join("\n");
            assert!(faults.contains("header = false") && !faults.contains("canary"), "{faults}");
        }
    }
}
