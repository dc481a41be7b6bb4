//! `credgate init`: what it makes works as it is printed, and it never writes over anything.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use credgate_support::{
    canary::Canary,
    process::{Finished, Gateway, Process, address, executable},
};

use crate::refusal::BOUND;

fn init(dir: &Path, args: &[&str]) -> Finished {
    let mut command = executable("credgate");
    command.arg("init").arg(dir).args(args);
    Process::run(command, BOUND)
}

/// The indented commands of an output, each on one line.
fn printed_commands(output: &str) -> Vec<String> {
    let joined = output.replace("\\\n", " ");
    joined.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
}

/// Types a printed line into a shell that finds our executables.
fn shell(line: &str) -> Command {
    let bin = Path::new(executable("credgate").get_program()).parent().unwrap().to_owned();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec {line}")])
        .env("PATH", path)
        .env_remove("CREDGATE_CONFIG")
        .env_remove("RUST_LOG");
    command
}

/// Makes a deployment with free ports, starts it and asks it, with the lines that `init` printed.
fn works_as_printed(dir: &Path, args: &[&str]) {
    let made = init(dir, &[&["--port", "0"], args].concat());
    assert_eq!(made.exit.code, Some(0), "{}", made.stderr);
    assert_eq!(made.stderr, "");
    let lines = printed_commands(&made.stdout);
    let [serve, probe, lookup, more @ ..] = lines.as_slice() else { panic!("{}", made.stdout) };
    assert!(serve.starts_with("credgate serve --config "), "{serve}");

    let check = Process::run(shell(&serve.replace("credgate serve", "credgate check-config")), BOUND);
    assert_eq!((check.exit.code, check.stderr.as_str()), (Some(0), ""), "{}", check.stdout);
    let open =
        Process::run(shell(&format!("{} --open", serve.replace("credgate serve", "credgate check-config"))), BOUND);
    assert_eq!(open.exit.code, Some(0), "{}", open.stderr);
    assert!(open.stdout.contains("the credential store opens"), "{}", open.stdout);

    let config = dir.join("credgate.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[log]\nformat = \"json\"\n")).unwrap();
    let gateway = Process::start(shell(serve));
    gateway.log.wait_for(|line| line.says("ready"), Gateway::START);
    let with_port =
        |line: &str, listener: &str| line.replace("127.0.0.1:PORT", &address(&gateway, listener).to_string());
    let probe = Process::run(shell(&with_port(probe, "control")), BOUND);
    assert_eq!((probe.exit.code, probe.stdout.as_str()), (Some(0), "SERVING\n"), "{}", probe.stderr);

    let ask = with_port(lookup, "lookup");
    assert!(ask.contains("lookup 2000 ") && ask.ends_with("--show-password"), "{ask}");
    let found = Process::run(shell(&ask), BOUND);
    assert_eq!(found.exit.code, Some(0), "{}", found.stderr);
    assert_eq!(found.stdout.trim_end().len(), 20, "{}", found.stdout);
    let others = ["2001", "0200"].map(|node| Process::run(shell(&ask.replace(" 2000 ", &format!(" {node} "))), BOUND));
    assert!(others.iter().all(|other| other.exit.code == Some(0) && other.stdout != found.stdout));
    let disabled = Process::run(shell(&ask.replace(" 2000 ", " 2999 ")), BOUND);
    assert_eq!(disabled.exit.code, Some(2), "{}", disabled.stderr);

    for line in more {
        let ended = Process::run(shell(line), BOUND);
        assert_eq!(ended.exit.code, Some(0), "{line}: {}", ended.stderr);
    }
    gateway.terminate();
    assert_eq!(gateway.wait(BOUND).code, Some(0));
}

#[test]
fn the_printed_lines_work() {
    let dir = tempfile::tempdir().unwrap();
    works_as_printed(&dir.path().join("new/deployment"), &[]);
}

#[test]
fn the_printed_lines_work_for_a_csv_store_in_an_empty_folder_with_an_odd_name() {
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("my node's folder");
    fs::create_dir(&odd).unwrap();
    works_as_printed(&odd, &["--store", "csv"]);
}

#[test]
fn its_default_ports_are_those_of_the_documentation() {
    let dir = tempfile::tempdir().unwrap();
    let made = init(&dir.path().join("x"), &[]);
    assert!(
        made.stdout.contains("--addr 127.0.0.1:7443 ") && made.stdout.contains("--addr 127.0.0.1:7444 "),
        "{}",
        made.stdout
    );
    let config = fs::read_to_string(dir.path().join("x/credgate.toml")).unwrap();
    for port in ["127.0.0.1:7443", "127.0.0.1:7444", "127.0.0.1:7445"] {
        assert!(config.contains(port), "{config}");
    }
}

#[test]
fn only_its_owner_may_read_what_is_secret() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("x");
    let made = init(&dir, &[]);
    assert_eq!(made.exit.code, Some(0), "{}", made.stderr);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let public = ["ca.pem", "server.pem", "registrar.pem", "probe.pem", "credgate.toml"];
    let mut secrets = Vec::new();
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if public.contains(&name.as_str()) {
            continue;
        }
        assert_eq!(mode(&path), 0o600, "{name}");
        if let Ok(text) = fs::read_to_string(&path) {
            secrets.extend(text.lines().filter(|line| line.len() >= 40 && !line.starts_with('-')).map(str::to_owned));
        }
    }
    // Four keys of three lines and two tokens.
    assert!(secrets.len() >= 14, "{}", secrets.len());
    Canary::new(&secrets).absent_from("what init printed", &made.stdout);
    Canary::new(&secrets).absent_from("credgate.toml", &fs::read_to_string(dir.join("credgate.toml")).unwrap());
}

#[test]
fn nothing_that_exists_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine"), "mine").unwrap();
    let refused = init(dir.path(), &[]);
    assert_eq!(refused.exit.code, Some(1), "{}", refused.stdout);
    assert_eq!(refused.stderr, format!("credgate: {}: is not empty; name a new folder\n", dir.path().display()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let file = init(&dir.path().join("mine"), &[]);
    assert_eq!(file.exit.code, Some(1));
    assert!(file.stderr.starts_with(&format!("credgate: {}/mine: ", dir.path().display())), "{}", file.stderr);
    assert_eq!(fs::read_to_string(dir.path().join("mine")).unwrap(), "mine");

    for port in ["65534", "65535", "65536"] {
        let beyond = dir.path().join("beyond");
        let refused = init(&beyond, &["--port", port]);
        assert_eq!(refused.exit.code, Some(1), "{port}");
        assert!(refused.stderr.contains("--port"), "{}", refused.stderr);
        assert!(!beyond.exists());
    }
}

#[test]
fn two_deployments_share_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let token = |name: &str| {
        let folder = dir.path().join(name);
        assert_eq!(init(&folder, &[]).exit.code, Some(0));
        ["registrar.token", "probe.token", "ca.key", "server.key"]
            .map(|file| fs::read_to_string(folder.join(file)).unwrap())
    };
    let (one, other) = (token("one"), token("other"));
    assert!(one.iter().all(|secret| !other.contains(secret)));
    assert_ne!(one[0], one[1]);
}
