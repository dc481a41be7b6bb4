//! An exception as a short plain sentence, made in the thread that raised it: its type, and where it came from.
//!
//! Never its text: that may quote a password or a URL, and making it may run code that sleeps, raises or prints. So no
//! method of an exception is called here.

use std::fmt::Write;

use pyo3::{
    exceptions::{PyImportError, PySyntaxError},
    prelude::*,
    types::PyTraceback,
};

/// Type and place: `JSONDecodeError at plugin.py:12 (from json/decoder.py:355)`. `file` is the plugin's own.
pub(crate) fn describe(py: Python<'_>, error: &PyErr, file: Option<&str>) -> String {
    let mut text = kind(py, error);
    if let Some(place) = place_of_syntax(py, error) {
        let _ = write!(text, " at {place}");
        return text;
    }
    let Some((own, last)) = error.traceback(py).map(|traceback| places(&traceback, file)) else { return text };
    match (own, last) {
        (Some(own), Some(last)) if own != last => drop(write!(text, " at {own} (from {last})")),
        (Some(place), _) | (None, Some(place)) => drop(write!(text, " at {place}")),
        (None, None) => {}
    }
    text
}

/// The exception's type; of a failed import also which module is missing, which is no secret.
pub(crate) fn kind(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).qualname().ok().and_then(|name| name.extract::<String>().ok());
    let mut name = name.unwrap_or_else(|| "an exception".into());
    if error.is_instance_of::<PyImportError>(py)
        && let Ok(Some(module)) = error.value(py).getattr("name").and_then(|name| name.extract::<Option<String>>())
        && module.len() <= 100
        && module.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    {
        let _ = write!(name, " of {module}");
    }
    name
}

/// A syntax error knows its place itself; the traceback ends at the import.
fn place_of_syntax(py: Python<'_>, error: &PyErr) -> Option<String> {
    if !error.is_instance_of::<PySyntaxError>(py) {
        return None;
    }
    let value = error.value(py);
    let file: String = value.getattr("filename").ok()?.extract().ok()?;
    let line: u64 = value.getattr("lineno").ok()?.extract().ok()?;
    Some(format!("{}:{line}", short(&file)))
}

/// The last place in the plugin's own file, and the last of all.
fn places(traceback: &Bound<'_, PyTraceback>, file: Option<&str>) -> (Option<String>, Option<String>) {
    let (mut own, mut last) = (None, None);
    let mut next = Some(traceback.clone().into_any());
    for _ in 0..DEEPEST {
        let Some(step) = next.filter(|step| !step.is_none()) else { break };
        let frame = (|| -> PyResult<(String, u64)> {
            let code = step.getattr("tb_frame")?.getattr("f_code")?;
            Ok((code.getattr("co_filename")?.extract()?, step.getattr("tb_lineno")?.extract()?))
        })();
        if let Ok((name, line)) = frame
            && name != OURS
        {
            let place = format!("{}:{line}", short(&name));
            if file == Some(name.as_str()) {
                own = Some(place.clone());
            }
            last = Some(place);
        }
        next = step.getattr("tb_next").ok();
    }
    (own, last)
}

/// The last two parts of a path: enough to find the file, short enough for a line.
fn short(path: &str) -> &str {
    let mut ends = path.rmatch_indices('/').skip(1);
    ends.next().map_or(path, |(at, _)| &path[at + 1..])
}

/// Our own frames say nothing to an author.
const OURS: &str = "credgate/prelude.py";

/// Deeper than Python's recursion limit, unless a plugin raised it.
const DEEPEST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_path_is_cut_to_its_last_two_parts() {
        for (path, wanted) in
            [("/usr/lib/python3.11/json/decoder.py", "json/decoder.py"), ("a.py", "a.py"), ("b/a.py", "b/a.py")]
        {
            assert_eq!(short(path), wanted);
        }
    }
}
