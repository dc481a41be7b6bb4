//! The Debian package: what the recipe names exists, manual pages and completions come from the command line itself.

use std::{env, fs, path::Path, process::Command};

use credgate_support::process::{Process, build_directory, executable};

use super::{files, judged};
use crate::ground::{BOUND, repository, text};

/// The manual pages and completions, made by the example that the recipe names.
fn man() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository(".")).args(["run", "--quiet", "--package", "credgate", "--example", "man", "--"]);
    command.arg(folder.path()).env("CARGO_TARGET_DIR", build_directory().parent().unwrap());
    let done = Process::run(command, 10 * BOUND);
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
    folder
}

/// One test of both, since each run of cargo waits for others.
#[test]
fn every_asset_of_the_recipe_exists_and_every_command_has_its_page() {
    let man = man();
    assets(man.path());
    commands(man.path());
}

fn assets(man: &Path) {
    let cargo: toml::Table = text("Cargo.toml").parse().unwrap();
    let recipe = &cargo["package"]["metadata"]["deb"];
    let mut targets = Vec::new();
    for asset in recipe["assets"].as_array().unwrap() {
        let [source, target, mode] = [0, 1, 2].map(|index| asset[index].as_str().unwrap());
        let (folder, pattern) = match source.strip_prefix("target/man/") {
            Some(name) => (man.to_owned(), name),
            None => {
                let (folder, name) = source.rsplit_once('/').unwrap_or((".", source));
                (repository(folder), name)
            }
        };
        targets.push(target);
        if folder.ends_with("target/release") {
            assert_eq!(mode, "755", "{source}");
            continue;
        }
        let (begin, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let found = names.filter(|name| name.starts_with(begin) && name.ends_with(end)).count();
        assert!(found > 0, "{source} is not there");
    }
    let unit = text("deploy/systemd/credgate.service");
    assert!(unit.contains("ExecStart=/usr/bin/credgate serve") && targets.contains(&"usr/bin/"));
}

fn commands(man: &Path) {
    let mut help = executable("credgate");
    help.arg("--help");
    let help = Process::run(help, BOUND).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let bash = fs::read_to_string(man.join("credgate.bash")).unwrap();
    let mut count = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|command| *command != "help") {
        let page = fs::read_to_string(man.join(format!("credgate-{command}.1")));
        assert!(page.unwrap_or_else(|error| panic!("{command}: {error}")).contains(".SH SYNOPSIS"));
        assert!(bash.contains(command), "{command}");
        count += 1;
    }
    assert!(count > 6, "{help}");
    let probe = fs::read_to_string(man.join("credgate-probe.1")).unwrap();
    assert!(probe.contains("readiness") && probe.contains("token"), "{probe}");
    for file in ["_credgate", "_credgate-probe", "credgate.fish", "credgate-probe.fish", "credgate-probe.bash"] {
        assert!(man.join(file).is_file(), "{file}");
    }
}

#[test]
fn its_sample_configuration_is_good() {
    let files = files();
    let sample = text("deploy/debian/credgate.toml");
    // What systemd and the unit bring stands in the test's folder.
    let here = sample.replace("/run/credentials/credgate.service/", "").replace("/var/lib/credgate/", "");
    assert_ne!(here, sample);
    fs::write(files.path("credgate.toml"), here).unwrap();
    judged(&files.path("credgate.toml"));
}
