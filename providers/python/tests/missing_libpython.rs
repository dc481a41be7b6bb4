//! What the build says when it cannot link Python: the reason, and each way out.

use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

/// A linker that finds everything but Python.
const LINKER: &str = r#"#!/bin/sh
for argument; do
    case $argument in
        -lpython*) echo "ld: cannot find $argument" >&2; exit 1 ;;
    esac
done
PATH=${PATH#*:} exec cc "$@"
"#;

#[test]
fn the_build_names_the_library_and_the_ways_out() {
    // Its own target: what was built with Python stays as it is. Kept between runs, since most of it is dependencies.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("missing-libpython");
    let folder = tempfile::tempdir().unwrap();
    let linker = folder.path().join("cc");
    fs::write(&linker, LINKER).unwrap();
    fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();

    let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap());
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["check", "--offline", "--package", "credgate-python", "--manifest-path"]);
    cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let built = cargo.env("PATH", path).env("CARGO_TARGET_DIR", target).output().unwrap();

    let told = String::from_utf8_lossy(&built.stderr);
    assert!(!built.status.success(), "{told}");
    for line in [
        "error: credgate embeds Python 3.11 or newer, and the linker does not find libpython3.",
        "On Debian: apt-get install libpython3-dev, then build again.",
        "Another Python: set PYO3_PYTHON to its interpreter; it must have been built with a shared library.",
        "Without Python: cargo build --no-default-features --features csv,sql",
    ] {
        assert!(told.contains(line), "{line:?} is missing in:\n{told}");
    }
}
