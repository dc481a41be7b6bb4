//! What the tests stand on: the probe with a folder of its own, units, and the stand-in for systemd.

use std::{
    env,
    ffi::OsString,
    fs,
    net::{IpAddr, SocketAddr},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::{Deployment, Identity, SERVER_NAME},
    grpc::Client,
    process::{Gateway, Process, Signal},
    scripted::{CheckBehaviour, Script},
};
use tempfile::TempDir;

/// Whatever has not happened by then will not: generous, for machines that compile meanwhile.
pub const BOUND: Duration = Duration::from_secs(60);

/// A loopback address of its own, so that no other test's port is in the way.
pub fn place() -> IpAddr {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let [.., a, b] = process::id().to_be_bytes();
    IpAddr::from([127, 64 | (a & 63), b, NUMBER.fetch_add(1, Ordering::Relaxed)])
}

/// The name that every line begins with.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

/// A folder with the register and the stand-ins for the host's programs.
pub struct Ground {
    dir: TempDir,
}

/// How a probe ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ground {
    pub fn new() -> Self {
        let ground = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(ground.path("units")).unwrap();
        ground.program("systemctl", SYSTEMCTL);
        ground
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A program that the probe finds before any other of that name.
    pub fn program(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        let path = self.file(&format!("bin/{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What systemd says of a unit from now on.
    pub fn says(&self, unit: &str, active: &str, sub: &str, pid: u32) {
        let text = format!("MainPID={pid}\nResult=success\nLoadState=loaded\nActiveState={active}\nSubState={sub}\n");
        let new = self.file("new", text);
        fs::rename(new, self.path("units").join(unit)).unwrap();
    }

    pub fn says_running(&self, unit: &str, process: &Process) {
        self.says(unit, "active", "running", process.pid());
    }

    pub fn says_failed(&self, unit: &str) {
        self.says(unit, "failed", "failed", 0);
    }

    /// The probe with these words.
    pub fn command<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_credgate-probe"));
        let mut path = OsString::from(self.path("bin"));
        path.push(":");
        path.push(env::var_os("PATH").unwrap());
        command.args(words.into_iter().map(Into::into)).env("PATH", path);
        command.env("CREDGATE_RUNTIME_DIR", self.path("run"));
        command
    }

    /// Starts `await` with short pauses.
    pub fn wait<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Process {
        let mut command = self.command(["await", "--interval", "100ms", "--timeout", "20s"]);
        command.args(words.into_iter().map(Into::into));
        Process::start(command)
    }

    /// Runs the probe to its end.
    pub fn run<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Ended {
        ended(&Process::start(self.command(words)))
    }

    /// The files of the register.
    pub fn records(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("run/waits")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// Waits for the end of a probe. It never leaves its record behind.
pub fn ended(process: &Process) -> Ended {
    let exit = process.wait(BOUND);
    Ended { code: exit.code, stdout: process.stdout.whole(BOUND), stderr: process.log.whole(BOUND) }
}

/// Waits for a line on stdout that contains this.
#[track_caller]
pub fn told(process: &Process, text: &str) {
    process.stdout.wait_for(|line| line.text.contains(text), BOUND);
}

/// `--unit NAME`, to be followed by an address.
pub fn unit(name: &str) -> Vec<String> {
    vec!["--unit".to_owned(), name.to_owned()]
}

/// A pair for the command line, read over HTTP.
pub fn page(unit: &str, address: SocketAddr) -> [String; 4] {
    ["--unit".into(), unit.into(), "--addr".into(), format!("http://{address}/")]
}

impl Ended {
    /// The refusal, without the host's name.
    #[track_caller]
    pub fn refusal(&self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        let line = self.stderr.strip_prefix(&format!("{}: ", host())).and_then(|line| line.strip_suffix('\n'));
        let line = line.unwrap_or_else(|| panic!("{self:?}"));
        assert!(!line.contains('\n'), "{self:?}");
        line.to_owned()
    }

    /// Nothing went wrong; the lines of stdout, without the host's name.
    #[track_caller]
    pub fn served(&self) -> Vec<String> {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self.lines()
    }

    #[track_caller]
    pub fn lines(&self) -> Vec<String> {
        let prefix = format!("{}: ", host());
        let line = |line: &str| line.strip_prefix(&prefix).unwrap_or_else(|| panic!("{self:?}")).to_owned();
        self.stdout.lines().map(line).collect()
    }
}

/// A gateway whose readiness the test decides.
pub struct Moody {
    pub deployment: Deployment,
    pub gateway: Gateway,
    script: Script,
}

impl Moody {
    pub async fn start() -> Self {
        let deployment = Deployment::mtls()
            .with_scripted(4)
            .merge("[health]\ninterval = \"50ms\"\ntimeout = \"10s\"\nmax_age = \"30s\"");
        let (gateway, script) = deployment.start_scripted().await;
        Self { deployment, gateway, script }
    }

    /// Returns when it answers so.
    pub async fn becomes(&self, wanted: ServingStatus) {
        let behaviour = if wanted == ServingStatus::Serving { CheckBehaviour::Ok } else { CheckBehaviour::Fail };
        self.script.check(behaviour).await;
        let client = Client::open(&self.deployment, self.gateway.control, &self.deployment.probe).await;
        client.watch("readiness").await.unwrap().until(wanted, BOUND).await;
    }
}

/// Where a gateway is and who asks, for any loopback address.
pub fn asking(deployment: &Deployment, address: SocketAddr, identity: &Identity) -> Vec<String> {
    let name = ["--server-name".to_owned(), SERVER_NAME.to_owned()];
    [deployment.client_arguments(address, identity), name.to_vec()].concat()
}

/// A process that does the steps of `unit.py`, in a group of its own. Its children end with it, or, when it is killed
/// before, with this value.
pub struct Unit(pub Process);

impl Unit {
    /// Starts it, and waits until its steps are done or it waits.
    #[track_caller]
    pub fn start<S: AsRef<str>>(steps: impl IntoIterator<Item = S>) -> Self {
        Self::start_as(Command::new(PYTHON), steps)
    }

    /// The same in a frame: `unshare --net python3`.
    #[track_caller]
    pub fn start_as<S: AsRef<str>>(mut command: Command, steps: impl IntoIterator<Item = S>) -> Self {
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wait/unit.py"));
        command.args(steps.into_iter().map(|step| step.as_ref().to_owned()));
        command.process_group(0);
        let process = Process::start(command);
        process.stdout.wait_for(|line| ["done", "waits"].contains(&line.text.as_str()), BOUND);
        Self(process)
    }

    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Lets it do the steps behind `wait`.
    #[track_caller]
    pub fn go_on(&self) {
        let mark = self.0.stdout.mark();
        self.0.signal(Signal::USR1);
        self.0.stdout.wait_after(mark, |line| ["done", "waits"].contains(&line.text.as_str()), BOUND);
    }

    /// Lets it do `exit`.
    pub fn end(&self) {
        self.0.signal(Signal::USR1);
        self.0.wait(BOUND);
    }

    /// The number of its child.
    #[track_caller]
    pub fn child(&self) -> u32 {
        let line = self.0.stdout.wait_for(|line| line.text.starts_with("child "), BOUND);
        line.text[6..].parse().unwrap()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // Only a group that still has a member of ours: its number is nobody else's as long as it has.
        if self.0.stdout.lines().iter().any(|line| line.text.starts_with("child ")) {
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.pid())]).output();
        }
    }
}

/// The interpreter of the system: its packages are none of a unit's business.
pub const PYTHON: &str = "/usr/bin/python3";

/// Prints the file of the unit, which is its last argument.
const SYSTEMCTL: &str = r#"#!/bin/sh
for unit; do :; done
cat "$(dirname "$0")/../units/$unit" 2>/dev/null ||
    printf 'LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n'
"#;
