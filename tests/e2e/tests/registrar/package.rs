//! The Python package: its own tests, its types, its installation.

use std::{path::PathBuf, time::Duration};

use credgate_support::{
    process::{Finished, Process},
    python::Python,
};

use crate::subject::package;

const INSTALLATION: Duration = Duration::from_secs(600);

fn tests() -> PathBuf {
    package().with_file_name("tests")
}

fn run(python: &Python, arguments: &[&str], paths: &[PathBuf]) -> Finished {
    let mut command = python.command();
    command.args(arguments).args(paths);
    command.env("PYTHONPATH", package()).env("PYTHONDONTWRITEBYTECODE", "1");
    let finished = Process::run(command, INSTALLATION);
    assert_eq!(finished.exit.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    finished
}

#[test]
fn its_own_tests_pass() {
    let finished = run(&Python::grpc(), &["-m", "unittest", "discover", "-v", "-s"], &[tests()]);
    assert!(finished.stderr.contains("\nOK\n") && !finished.stderr.contains("skipped"), "{}", finished.stderr);
}

#[test]
fn its_types_are_whole() {
    let cache = tempfile::tempdir().unwrap();
    let config = package().with_file_name("pyproject.toml");
    let (cache, config) = (cache.path().to_str().unwrap(), config.to_str().unwrap());
    let arguments = ["-m", "mypy", "--strict", "--config-file", config, "--cache-dir", cache];
    run(&Python::with(&["pytest", "mypy"]), &arguments, &[package().join("credgate_client")]);
}

#[test]
fn it_can_be_installed() {
    // A copy, since building writes beside the sources.
    let copy = tempfile::tempdir().unwrap();
    let sources = std::fs::read_dir(package().join("credgate_client")).unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<String> = sources
        .filter(|path| path.is_file())
        .map(|path| format!("src/credgate_client/{}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    for file in names.iter().map(String::as_str).chain(["pyproject.toml", "README.md"]) {
        let to = copy.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(package().with_file_name(file), to).unwrap();
    }
    let target = tempfile::tempdir().unwrap();
    let arguments = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", target.path().to_str().unwrap()];
    run(&Python::with(&["pytest", "mypy"]), &arguments, &[copy.path().to_owned()]);
    for file in names.iter().map(|name| name.trim_start_matches("src/")).chain(["credgate_client/py.typed"]) {
        assert!(target.path().join(file).is_file(), "{file}");
    }
}
