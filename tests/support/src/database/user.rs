//! The unprivileged user: neither server runs as root. Whoever is not root starts them as himself.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
    process::Command,
};

use tempfile::TempDir;

/// `nobody` and `nogroup`.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder that belongs to the servers' user, in a place that it can reach.
pub(super) fn folder(prefix: &str) -> TempDir {
    let dir = tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    give(dir.path());
    dir
}

/// Gives a file or a folder away, with all in it.
pub(super) fn give(path: &Path) {
    if !is_root() {
        return;
    }
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// Writes a file that only the servers' user may read.
pub(crate) fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    give(path);
}

/// A command of the servers' user, without any setting of the environment's.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            let user = NOBODY.to_string();
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin").env("LC_ALL", "C.UTF-8").current_dir("/");
    command
}
