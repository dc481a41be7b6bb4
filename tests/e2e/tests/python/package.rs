//! The package for authors: its own tests, and the same module in both places.

use std::{path::Path, time::Duration};

use credgate_support::{process::Process, python::Python};

const PACKAGE: &str = "../../providers/python/package";
const INSTALLATION: Duration = Duration::from_secs(600);

#[test]
fn authors_test_with_pytest_outside_the_gateway() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join(PACKAGE);
    let python = Python::with(&["pytest", "mypy"]);
    let mut command = python.command();
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(package.join("tests"));
    command.env("PYTHONPATH", package.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    let finished = Process::run(command, INSTALLATION);
    assert_eq!(finished.exit.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains("passed"), "{}", finished.stdout);

    let mut command = python.command();
    let cache = tempfile::tempdir().unwrap();
    command.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(cache.path()).arg(package.join("src/credgate"));
    let finished = Process::run(command, INSTALLATION);
    assert_eq!(finished.exit.code, Some(0), "{}{}", finished.stdout, finished.stderr);
}

#[test]
fn the_package_can_be_installed_and_is_typed() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join(PACKAGE);
    // A copy, since building writes beside the sources.
    let copy = tempfile::tempdir().unwrap();
    for file in ["pyproject.toml", "src/credgate/__init__.py", "src/credgate/conformance.py", "src/credgate/py.typed"] {
        let to = copy.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(package.join(file), to).unwrap();
    }
    let python = Python::with(&["pytest", "mypy"]);
    let target = tempfile::tempdir().unwrap();
    let mut command = python.command();
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(target.path()).arg(copy.path());
    let finished = Process::run(command, INSTALLATION);
    assert_eq!(finished.exit.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    for file in ["__init__.py", "conformance.py", "py.typed"] {
        assert!(target.path().join("credgate").join(file).is_file(), "{file}");
    }
}
