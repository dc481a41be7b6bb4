//! `[provider.python]`: which module, where it and its packages are looked for, and what it is given.
//!
//! Reads files and folders, never Python: `check-config` works on a host whose database and packages are elsewhere.

use std::path::{Path, PathBuf, absolute};

use credgate_files::{Secret, read_secret};
use credgate_provider::{
    Report, Site,
    settings::{Section, Table, Value},
};

use crate::{values, venv::Venv};

/// What is configured, checked.
pub(crate) struct Settings {
    pub(crate) module: Module,
    /// Folders put before the search path.
    pub(crate) path: Vec<String>,
    pub(crate) venv: Option<Venv>,
    pub(crate) config: Table,
    pub(crate) secrets: Vec<(String, Secret)>,
    pub(crate) workers: usize,
    /// Where `module` stands, for what is found wrong with it later.
    pub(crate) place: String,
}

/// How the module is named.
#[derive(Clone, Debug)]
pub(crate) enum Module {
    File(String),
    Dotted(String),
}

fn module(section: &Section<'_>, site: &Site, report: &Report) -> Option<Module> {
    let name = section.required::<String>("module")?;
    if !name.contains('/') && !name.ends_with(".py") {
        let good = name.split('.').all(|part| {
            let mut characters = part.chars();
            characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
                && characters.all(|next| next.is_alphanumeric() || next == '_')
        });
        if !good {
            section.problem("module", "is neither a file (plugin.py) nor a dotted name (package.module)");
        }
        return good.then_some(Module::Dotted(name));
    }
    let file = rooted(site, &name);
    let (_, loaded) = report.file(section.place("module"), credgate_files::read(&file))?;
    report.loaded(loaded);
    text(section, "module", &file).map(Module::File)
}

pub(crate) fn read(section: &Section<'_>, site: &Site, report: &Report) -> Option<Settings> {
    let module = module(section, site, report);
    let path = section.or("path", Vec::<String>::new());
    let path: Vec<_> = path.iter().map(|folder| search_folder(section, &rooted(site, folder))).collect();
    let venv = section.optional::<String>("venv").map(|folder| Venv::read(&rooted(site, &folder), section, report));
    let config = section.or("config", Table::new());
    if let Err(fault) = values::judge(&config) {
        section.problem("config", fault);
    }
    let secrets = section.or("secret_files", Table::new()).into_iter();
    let secrets = secrets.map(|(name, entry)| {
        let place = format!("{}.{name}", section.place("secret_files"));
        let Value::String(file) = entry.value else {
            report.problem(place, "expected the path of a file");
            return None;
        };
        let secret = report.file(&place, read_secret(&rooted(site, &file)))?;
        report.loaded_secret(&place, secret.loaded().clone());
        Some((name, secret))
    });
    let secrets: Vec<_> = secrets.collect();
    let workers = section.within("workers", DEFAULT_WORKERS, 1..=MOST_WORKERS);
    section.finish();
    Some(Settings {
        module: module?,
        path: path.into_iter().collect::<Option<_>>()?,
        venv: venv.map_or(Some(None), |venv| venv.map(Some))?,
        config,
        secrets: secrets.into_iter().collect::<Option<_>>()?,
        workers,
        place: section.place("module"),
    })
}

/// Relative paths start at the configuration file's folder, and stay what they are if a plugin changes the process's.
fn rooted(site: &Site, path: &str) -> PathBuf {
    let path = site.base.join(path);
    absolute(&path).unwrap_or(path)
}

fn search_folder(section: &Section<'_>, folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        section.problem("path", format!("{} is not a folder", folder.display()));
        return None;
    }
    text(section, "path", folder)
}

fn text(section: &Section<'_>, key: &str, path: &Path) -> Option<String> {
    if path.to_str().is_none() {
        section.problem(key, format!("{} is not UTF-8, which Python's paths are here", path.display()));
    }
    path.to_str().map(Into::into)
}

/// A thread waits in most calls; 16 of them wait for a backend of 10 ms at 1600 lookups a second.
const DEFAULT_WORKERS: usize = 16;
/// A typing error must not become ten thousand threads.
const MOST_WORKERS: usize = 1024;

/// Secrets and whatever stands in `config` are not for showing.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("module", &self.module).field("workers", &self.workers).finish_non_exhaustive()
    }
}
