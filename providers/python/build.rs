//! Finds out which Python is embedded, and says what to do when it cannot be linked.

use std::{
    env,
    path::Path,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let config = pyo3_build_config::get();
    let version = config.target_abi().version();
    let Some(library) = config.lib_name().filter(|_| (version.major, version.minor) >= OLDEST) else {
        return stop(&format!("the Python of this build is {}.{}", version.major, version.minor));
    };
    if !links(library, config.lib_dir()) {
        return stop(&format!(
            "the linker does not find lib{library}, the library of Python {}.{}",
            version.major, version.minor
        ));
    }
    println!("cargo::rustc-env=CREDGATE_PYTHON_VERSION={}.{}", version.major, version.minor);
    println!("cargo::rustc-env=CREDGATE_PYTHON_EXECUTABLE={}", config.executable().unwrap_or("/usr/bin/python3"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=lib_dir={}", config.lib_dir().unwrap_or_default());
    pyo3_build_config::add_libpython_rpath_link_args();
    ExitCode::SUCCESS
}

/// Python 3.11 has what a plugin's start relies on: `safe_path`, `tomllib`, one `TimeoutError`.
const OLDEST: (u8, u8) = (3, 11);

/// Asks the linker itself: only it knows where it looks. Without a `cc` the link at the end will tell.
fn links(library: &str, folder: Option<&str>) -> bool {
    let out = env::var("OUT_DIR").unwrap_or_default();
    let (source, probe) = (Path::new(&out).join("probe.c"), Path::new(&out).join("probe"));
    if std::fs::write(&source, "int main(void) { return 0; }\n").is_err() {
        return true;
    }
    let mut command = Command::new("cc");
    command.arg(&source).arg("-o").arg(&probe).args(folder.map(|folder| format!("-L{folder}")));
    command.arg(format!("-l{library}")).output().map_or(true, |linked| linked.status.success())
}

fn stop(what: &str) -> ExitCode {
    eprintln!("error: credgate embeds Python 3.11 or newer, and {what}.");
    eprintln!("  On Debian: apt-get install libpython3-dev, then build again.");
    eprintln!("  Another Python: set PYO3_PYTHON to its interpreter; it must have been built with a shared library.");
    eprintln!("  Without Python: cargo build --no-default-features --features csv,sql");
    ExitCode::FAILURE
}
