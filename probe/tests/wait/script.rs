//! The script of `docs/replace.md`, as it stands there, on two real gateways.

use std::{env, ffi::OsString, fs, net::SocketAddr, os::unix::fs::symlink, path::PathBuf, process::Command};

use credgate_support::{
    deployment::Deployment,
    pki::Leaf,
    process::{Finished, Process, executable},
};

use crate::ground::{BOUND, Ground, place};

const PAGE: &str = include_str!("../../../docs/replace.md");
const UNITS: [&str; 2] = ["credgate-a", "credgate-b"];

/// Two units of one deployment that run the same executable, by a systemctl that really starts and stops them.
struct Host {
    ground: Ground,
    deployment: Deployment,
    addresses: [SocketAddr; 2],
    program: PathBuf,
}

impl Host {
    fn start() -> Self {
        let (ground, place) = (Ground::new(), place());
        ground.program("systemctl", include_str!("systemctl.py"));
        symlink(env!("CARGO_BIN_EXE_credgate-probe"), ground.path("bin/credgate-probe")).unwrap();
        let script = PAGE.split("```bash\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        ground.program("replace", script);
        let program = ground.path("credgate");
        ground.program("old", &wrapper("the old one"));
        fs::rename(ground.path("bin/old"), &program).unwrap();

        let deployment = Deployment::mtls();
        let server = deployment.ca.issue(&Leaf::server().ip(place));
        let mut deployment = deployment.with_server(server);
        let addresses = [7444, 7544].map(|port| SocketAddr::new(place, port));
        for (unit, address) in UNITS.iter().zip(addresses) {
            deployment.config.set("control.listen", address.to_string());
            deployment.config.set("lookup.listen", format!("{place}:{}", address.port() - 1));
            let config = deployment.path(&format!("{unit}.toml"));
            fs::copy(deployment.write(), &config).unwrap();
            let command = format!("{}\nserve\n--config\n{}", program.display(), config.display());
            ground.file(&format!("units/{unit}.command"), command);
        }
        let host = Self { ground, deployment, addresses, program };
        for unit in UNITS {
            let mut command = Command::new(host.ground.path("bin/systemctl"));
            command.args(["restart", unit]);
            assert_eq!(Process::run(command, BOUND).exit.code, Some(0));
        }
        let words = |(unit, address): (&str, SocketAddr)| {
            [
                vec!["--unit".to_owned(), unit.to_owned()],
                host.deployment.client_arguments(address, &host.deployment.probe),
            ]
            .concat()
        };
        let words: Vec<String> = UNITS.into_iter().zip(host.addresses).flat_map(words).collect();
        let ended = crate::ground::ended(&host.ground.wait(words));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        host
    }

    /// Runs the script with a new executable that says what it is.
    fn replace(&self, new: &str) -> Finished {
        let mut command = Command::new(self.ground.path("bin/replace"));
        let mut path = OsString::from(self.ground.path("bin"));
        path.push(":");
        path.push(env::var_os("PATH").unwrap());
        command.arg(self.ground.file("new-credgate", new)).env("PATH", path).env("PROGRAM", &self.program);
        command.env("SETTINGS", self.deployment.dir()).env("CLAIMS", self.ground.path("claims"));
        command.env("ADDRESSES", self.addresses.map(|address| address.to_string()).join(" "));
        command.env("CREDGATE_RUNTIME_DIR", self.ground.path("run"));
        Process::run(command, BOUND)
    }

    fn pids(&self) -> [String; 2] {
        UNITS.map(|unit| fs::read_to_string(self.ground.path(&format!("units/{unit}.pid"))).unwrap())
    }

    fn program(&self) -> String {
        fs::read_to_string(&self.program).unwrap()
    }

    fn claims(&self) -> String {
        fs::read_to_string(self.ground.path("claims")).unwrap()
    }

    /// Both serve now.
    fn serves(&self) -> bool {
        let words = |address| self.deployment.client_arguments(address, &self.deployment.probe);
        self.addresses
            .into_iter()
            .all(|address| self.ground.run([vec!["check-source".to_owned()], words(address)].concat()).code == Some(0))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for pid in self.pids() {
            let _ = Command::new("kill").args(["-9", &pid]).output();
        }
    }
}

/// A program that is the real gateway under a name of its own.
fn wrapper(name: &str) -> String {
    format!("#!/bin/sh\n# {name}\nexec {} \"$@\"\n", executable("credgate").get_program().display())
}

#[test]
fn both_units_run_the_new_executable() {
    let host = Host::start();
    let before = host.pids();
    host.ground.file("claims", "# claims\nsomething-else cron\n");
    let ended = host.replace(&wrapper("the new one"));
    assert_eq!((ended.exit.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let after = host.pids();
    assert!(before.iter().zip(&after).all(|(before, after)| before != after));
    assert!(host.program().contains("the new one") && host.serves());
    assert_eq!(host.claims(), "# claims\nsomething-else cron\n");
    assert!(!host.ground.path("credgate.old").exists());
    assert_eq!(host.ground.records(), Vec::<String>::new());
}

#[test]
fn an_executable_that_never_serves_is_taken_back() {
    let host = Host::start();
    let before = host.pids();
    let ended = host.replace("#!/bin/sh\necho 'wrong library' >&2\nexit 127\n");
    assert_eq!(ended.exit.code, Some(1), "{ended:?}");
    let address = host.addresses[0];
    let gone = format!(
        "unit credgate-a is not running (systemd: failed (failed), exit-code); {address} last gave no answer (connect: connection refused)\n"
    );
    assert!(ended.stderr.contains(&gone) && ended.stderr.ends_with("going back to the old executable\n"), "{ended:?}");
    assert!(host.program().contains("the old one") && host.serves());
    assert_eq!(host.claims(), "", "released by the way back");
    assert_eq!(host.pids()[1], before[1], "the second unit was never touched");
}

#[test]
fn nothing_is_touched_when_one_does_not_serve_or_is_claimed() {
    let host = Host::start();
    let before = host.pids();
    host.ground.file("claims", "credgate-b ada@7\n");
    let ended = host.replace(&wrapper("the new one"));
    assert_eq!(ended.exit.code, Some(1), "{ended:?}");
    assert_eq!(ended.stderr, "credgate-b ada@7\nreplace: credgate-b is being replaced\n");
    assert_eq!((host.claims().as_str(), host.pids()), ("credgate-b ada@7\n", before.clone()));
    host.ground.file("claims", "");
    Command::new("kill").args(["-9", &before[1]]).status().unwrap();
    let ended = host.replace(&wrapper("the new one"));
    assert_eq!(ended.exit.code, Some(1), "{ended:?}");
    let wanted = format!("{} gave no answer (connect: connection refused)\n", host.addresses[1]);
    assert!(ended.stderr.ends_with(&wanted), "{ended:?}");
    assert!(host.program().contains("the old one") && host.claims().is_empty());
    assert_eq!(host.pids(), before);
}
