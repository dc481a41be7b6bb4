//! The virtual environment whose packages a plugin uses: it must have been made by the Python that is embedded.
//!
//! Its `bin/python` is told to the interpreter as its own executable, which is what makes `site` take the environment's
//! packages. Whether it did is looked at after the start.

use std::path::{Path, PathBuf};

use credgate_provider::{Report, settings::Section};

/// A folder that looks like a usable environment.
#[derive(Clone, Debug)]
pub(crate) struct Venv {
    pub(crate) folder: PathBuf,
}

impl Venv {
    pub(crate) fn read(folder: &Path, section: &Section<'_>, report: &Report) -> Option<Self> {
        let file = folder.join("pyvenv.cfg");
        let (bytes, loaded) = report.file(section.place("venv"), credgate_files::read(&file))?;
        report.loaded(loaded);
        let text = String::from_utf8_lossy(&bytes);
        let Some(version) = value(&text, "version").or_else(|| value(&text, "version_info")) else {
            section.problem("venv", format!("{} names no version", file.display()));
            return None;
        };
        if minor(version) != minor(VERSION) {
            section.problem(
                "venv",
                format!("was made by another Python than {VERSION}, which is embedded; {}", remedy(folder)),
            );
            return None;
        }
        let (executable, packages) = (folder.join(PYTHON), folder.join(format!("lib/python{VERSION}/site-packages")));
        for needed in [&executable, &packages] {
            if !needed.exists() {
                section.problem("venv", format!("has no {}; {}", needed.display(), remedy(folder)));
                return None;
            }
        }
        if value(&text, "home").is_some_and(|home| !same_folder(home)) {
            section.warning(
                "venv",
                format!(
                    "was made by another installation of Python {VERSION} than the embedded one; {}",
                    remedy(folder)
                ),
            );
        }
        Some(Self { folder: folder.into() })
    }

    pub(crate) fn executable(&self) -> PathBuf {
        self.folder.join(PYTHON)
    }
}

/// The interpreter that stands for the embedded library where no environment is configured.
pub(crate) fn own_executable() -> &'static Path {
    Path::new(EXECUTABLE)
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

fn minor(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split('.');
    Some((parts.next()?, parts.next()?))
}

fn same_folder(home: &str) -> bool {
    let folder = |path: &Path| path.canonicalize().ok();
    own_executable().parent().and_then(folder) == folder(Path::new(home))
}

fn remedy(folder: &Path) -> String {
    format!("make it again: {EXECUTABLE} -m venv --clear {}", folder.display())
}

/// Major and minor version of the library this build is linked with.
pub(crate) const VERSION: &str = env!("CREDGATE_PYTHON_VERSION");
const EXECUTABLE: &str = env!("CREDGATE_PYTHON_EXECUTABLE");
const PYTHON: &str = "bin/python";
