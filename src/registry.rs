//! The kinds of provider that this build has: the only file that names provider crates.

#[cfg(feature = "sql")]
pub mod own_schema;

use credgate_provider::Kind;

/// Kind and Cargo feature of every provider of this project.
const FEATURES: [(&str, bool); 3] =
    [("csv", cfg!(feature = "csv")), ("sql", cfg!(feature = "sql")), ("python", cfg!(feature = "python"))];

/// The built-in kinds.
pub fn kinds() -> Vec<Box<dyn Kind>> {
    vec![
        #[cfg(feature = "csv")]
        Box::new(credgate_csv::CsvKind),
        #[cfg(feature = "sql")]
        Box::new(credgate_sql::SqlKind),
        #[cfg(feature = "python")]
        Box::new(credgate_python::PythonKind),
    ]
}

/// Ends the process at once where leaving `main` could do harm: with an interpreter whose threads still run, the exit
/// handlers of the libraries that a plugin loaded would take away what those threads use.
pub fn leave(code: u8) {
    #[cfg(feature = "python")]
    credgate_python::leave(code);
    #[cfg(not(feature = "python"))]
    let _ = code;
}

/// The feature that would bring `kind`, when this build was made without it.
pub fn left_out(kind: &str) -> Option<&'static str> {
    FEATURES.iter().find(|(name, built)| *name == kind && !built).map(|(name, _)| *name)
}
