//! Where the executables are, and building them when they are missing or older than their sources.
//!
//! Cargo builds the executables of a test's own package only; those of the gateway, the probe and the scripted gateway
//! are built here, once per test process. With `CREDGATE_TEST_BIN` set to a folder, what stands there is taken as it
//! is.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

/// A command for one of the workspace's executables: `credgate`, `credgate-probe`, `credgate-scripted`. No variable
/// that the gateway reads is handed on.
pub fn executable(name: &str) -> Command {
    let path = folder().join(name);
    assert!(path.is_file(), "there is no {}", path.display());
    let mut command = Command::new(path);
    command.env_remove("CREDGATE_CONFIG").env_remove("RUST_LOG");
    command
}

/// `target/PROFILE`: where the running test was built, and the executables beside it.
pub fn build_directory() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let inner = folder.ends_with("deps") || folder.ends_with("examples");
    if inner { folder.parent().unwrap() } else { folder }.to_owned()
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match env::var_os("CREDGATE_TEST_BIN") {
        Some(folder) => folder.into(),
        None => {
            let folder = build_directory();
            if !EXECUTABLES.iter().all(|name| is_fresh(&folder.join(name))) {
                build(&folder);
            }
            folder
        }
    })
}

/// Cargo lists an executable's sources in `NAME.d`: `target: source source …`, blanks escaped by a backslash.
fn is_fresh(executable: &Path) -> bool {
    let Some(built) = modified(executable) else { return false };
    let Ok(list) = fs::read_to_string(executable.with_extension("d")) else { return false };
    let Some((_, sources)) = list.split_once(": ") else { return false };
    let sources = sources.replace("\\ ", "\0");
    sources.split_whitespace().all(|source| modified(source.replace('\0', " ").as_ref()).is_some_and(|at| at <= built))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--quiet", "--profile", profile, "--bins"]);
    command.args(["-p", "credgate", "-p", "credgate-probe", "-p", "credgate-support"]);
    command.env("CARGO_TARGET_DIR", folder.parent().unwrap());
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}

const EXECUTABLES: [&str; 3] = ["credgate", "credgate-probe", "credgate-scripted"];
