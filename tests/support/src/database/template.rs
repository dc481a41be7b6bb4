//! Data folders that servers start from. Making one takes seconds, copying it a moment; it is kept beside the
//! executables, by the version of the program that made it.

use std::{fs, path::Path};

use super::{Kind, PATIENCE, mariadb, postgres, user};
use crate::process::{Process, build_directory};

/// Copies the template of a kind.
pub(super) fn copy(kind: Kind, to: &Path) {
    let (name, program) = match kind {
        Kind::Postgres => ("postgres", postgres::program("postgres")),
        Kind::MariaDb => ("mariadb", mariadb::program()),
    };
    let version = Process::run(
        {
            let mut command = user::command(&program);
            command.arg("--version");
            command
        },
        PATIENCE,
    );
    let version: String = version.stdout.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    let template = build_directory().join("databases").join(format!("{name}-{version}-{FORMAT}"));
    if !template.exists() {
        make(kind, &template);
    }
    copy_tree(&template, to);
    user::give(to);
}

/// Raised when the way templates are made changes.
const FORMAT: u32 = 1;

/// Two test processes may both make it; the first rename wins.
fn make(kind: Kind, template: &Path) {
    let dir = user::folder("credgate-template-");
    let data = dir.path().join("data");
    match kind {
        Kind::Postgres => postgres::make(&data),
        Kind::MariaDb => mariadb::make(&data),
    }
    let parent = template.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    let own = tempfile::Builder::new().prefix("new-").tempdir_in(parent).unwrap();
    let made = own.path().join("data");
    copy_tree(&data, &made);
    let renamed = fs::rename(&made, template);
    assert!(renamed.is_ok() || template.exists(), "{}: {renamed:?}", template.display());
}

fn copy_tree(from: &Path, to: &Path) {
    let mut command = std::process::Command::new("cp");
    command.args(["-a", "--reflink=auto"]).arg(from).arg(to);
    let done = Process::run(command, PATIENCE);
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
}
