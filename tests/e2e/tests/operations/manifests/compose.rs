//! `docker-compose.yml`, the files that its setup makes, and the roles of its database, tried on a real PostgreSQL.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, process::Command};

use credgate_support::{
    database::{Database, Kind},
    process::{Process, executable},
};
use serde_json::Value;
use tempfile::TempDir;

use super::{Judged, duration, judged, option, probe_command, yaml};
use crate::ground::{BOUND, repository, text};

/// `deploy/compose/setup`, in a folder of its own.
fn made() -> (TempDir, Judged) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("run");
    let mut command = Command::new(repository("deploy/compose/setup"));
    command.arg(&dir).env("CREDGATE", executable("credgate").get_program());
    let done = Process::run(command, BOUND);
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
    let judged = judged(&dir.join("credgate.toml"));
    (folder, judged)
}

fn compose() -> Value {
    yaml("docker-compose.yml").remove(0)
}

fn words<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value.as_array().unwrap().iter().map(|item| item.get(key).unwrap_or(item).as_str().unwrap()).collect()
}

#[test]
fn the_gateways_fit_their_configuration() {
    let (folder, config) = made();
    let compose = compose();
    for (name, published) in [("gateway-1", 7443), ("gateway-2", 7543)] {
        let gateway = &compose["services"][name];
        let grace = duration(gateway["stop_grace_period"].as_str().unwrap());
        assert!(grace > config.budget, "{grace:?} for {:?}", config.budget);
        assert_eq!(words(&gateway["ports"], ""), [format!("127.0.0.1:{published}:{}", config.port("lookup"))]);
        assert_eq!((&gateway["read_only"], &gateway["cap_drop"][0]), (&true.into(), &"ALL".into()));
        let check = &gateway["healthcheck"];
        let mut command = check["test"].clone();
        assert_eq!(command.as_array_mut().unwrap().remove(0), "CMD");
        let command = probe_command(&command, "readiness", config.port("control"));
        assert!(duration(check["timeout"].as_str().unwrap()) > duration(option(&command, "--timeout")));
        // provider.open_timeout
        assert!(duration(check["start_period"].as_str().unwrap()).as_secs() > 30);

        let targets: BTreeSet<_> = words(&gateway["secrets"], "target").into_iter().collect();
        for file in ["--ca", "--cert", "--key", "--token-file"] {
            assert!(targets.contains(option(&command, file)), "{file}");
        }
        let settings = text("deploy/compose/credgate.toml");
        for file in ["server.pem", "server.key", "ca.pem", "reader.url"] {
            assert!(settings.contains(&format!("\"{file}\"")) && targets.contains(&*format!("/etc/credgate/{file}")));
        }
    }
    let targets = &yaml("deploy/prometheus/prometheus.yml")[0]["scrape_configs"][0]["static_configs"][0]["targets"];
    let metrics = config.port("metrics");
    assert_eq!(words(targets, ""), [format!("gateway-1:{metrics}"), format!("gateway-2:{metrics}")]);
    for (kind, list) in [("secrets", &compose["secrets"]), ("configs", &compose["configs"])] {
        for (name, one) in list.as_object().unwrap() {
            let file = one["file"].as_str().unwrap().strip_prefix("./deploy/compose/").unwrap();
            assert!(folder.path().join(file).is_file(), "{kind} {name}: the setup makes no {file}");
        }
    }
}

#[test]
fn secrets_are_files_and_only_those_that_exist_are_mounted() {
    let compose = compose();
    for (name, service) in compose["services"].as_object().unwrap() {
        for (variable, _) in service["environment"].as_object().into_iter().flatten() {
            assert!(!variable.contains("PASSWORD") || variable.ends_with("_FILE"), "{name}: {variable}");
        }
        for kind in ["secrets", "configs"] {
            for source in service[kind].as_array().map_or(Vec::new(), |_| words(&service[kind], "source")) {
                assert!(compose[kind].get(source).is_some(), "{name} mounts {source}");
            }
        }
        for after in service["depends_on"].as_object().into_iter().flat_map(|map| map.keys()) {
            assert!(compose["services"].get(after).is_some(), "{name} waits for {after}");
        }
    }
    let folder = made().0;
    // The CA's key stays with its owner.
    assert_eq!(fs::metadata(folder.path().join("run/ca.key")).unwrap().permissions().mode() & 0o077, 0);
}

/// The roles, the migration as one of them, and a gateway as the other, which may not write.
#[test]
fn the_roles_of_the_database_are_enough_and_no_more() {
    let (folder, _) = made();
    let run = folder.path().join("run");
    let database = Database::start(Kind::Postgres);
    for role in ["credgate_owner", "credgate_reader"] {
        database.sql(&format!("DROP OWNED BY {role}"));
    }
    database.sql("DROP ROLE credgate_reader");
    // It owns the database here.
    database.sql("ALTER ROLE credgate_owner RENAME TO somebody");
    let secrets = folder.path().join("secrets");
    fs::create_dir(&secrets).unwrap();
    for role in ["owner", "reader"] {
        fs::copy(run.join(format!("{role}.password")), secrets.join(format!("{role}_password"))).unwrap();
        let url = fs::read_to_string(run.join(format!("{role}.url"))).unwrap();
        let here = url.replace("@postgres/", &format!("@{}/", database.address()));
        assert_ne!(url, here);
        fs::write(run.join(format!("{role}.url")), here).unwrap();
    }
    let (socket, port) = database.socket();
    let mut roles = Command::new(repository("deploy/compose/roles.sh"));
    roles.env("PGHOST", socket).env("PGPORT", port.to_string()).env("SECRETS", &secrets);
    let done = Process::run(roles, BOUND);
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);

    let config = run.join("credgate.toml");
    let credgate = |args: &[&str]| {
        let mut command = executable("credgate");
        command.args(args).arg("--config").arg(&config);
        Process::run(command, BOUND)
    };
    let owner = run.join("owner.url");
    let as_owner = ["--url-file", owner.to_str().unwrap()];
    for args in [&["migrate"][..], &["import", run.join("nodes.csv").to_str().unwrap()]] {
        let done = credgate(&[args, &as_owner].concat());
        assert_eq!(done.exit.code, Some(0), "{args:?}: {}", done.stderr);
    }
    assert_eq!(credgate(&["check-config", "--open"]).exit.code, Some(0));
    assert_ne!(credgate(&["import", run.join("nodes.csv").to_str().unwrap(), "--replace"]).exit.code, Some(0));
}

#[test]
fn the_image_runs_as_nobody_and_has_what_the_manifests_call() {
    let dockerfile = text("Dockerfile");
    let lines: Vec<_> = dockerfile.lines().filter(|line| !line.starts_with('#')).collect();
    let value = |word: &str| lines.iter().rev().find_map(|line| line.strip_prefix(word)).unwrap_or_default().trim();
    let user = value("USER ");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(value("STOPSIGNAL "), "SIGTERM");
    assert_eq!(value("ENTRYPOINT "), "[\"/usr/bin/credgate\"]");
    let last_stage = dockerfile.rsplit_once("\nFROM ").unwrap().1;
    for program in ["credgate", "credgate-probe"] {
        assert!(last_stage.contains(&format!("/target/release/{program} ")), "{program}");
    }
    assert!(dockerfile.contains("--locked") && !dockerfile.contains(":latest"));
    // Every crate of the workspace is let into the build.
    let ignored = text(".dockerignore");
    let workspace: toml::Table = text("Cargo.toml").parse().unwrap();
    for member in workspace["workspace"]["members"].as_array().unwrap() {
        let folder = member.as_str().unwrap().split('/').next().unwrap();
        assert!(ignored.contains(&format!("!{folder}\n")), "{folder}");
    }
}
