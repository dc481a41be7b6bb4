//! A Python with the gRPC packages, for clients of that language: one virtual environment per build directory.
//!
//! It is made when a test asks for it first, from PyPI, under a file lock. With another set of requirements it is
//! another folder, so a changed set never meets a stale one.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use sha2::{Digest, Sha256};

use crate::process::{Finished, Process, build_directory};

/// A virtual environment.
#[derive(Clone, Debug)]
pub struct Python {
    venv: PathBuf,
}

impl Python {
    /// What the gRPC tests need.
    pub const GRPC: [&str; 4] = ["grpcio", "grpcio-tools", "grpcio-health-checking", "grpcio-status"];

    /// The environment with the gRPC packages and the stubs of `credgate.v1` on its path.
    pub fn grpc() -> Self {
        let python = Self::with(&Self::GRPC);
        python.stubs();
        python
    }

    /// An environment with these requirements, as pip reads them.
    pub fn with(requirements: &[&str]) -> Self {
        let digest = Sha256::digest(requirements.join("\n").as_bytes());
        let key: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let root = build_directory().with_file_name("python");
        fs::create_dir_all(&root).unwrap();
        let python = Self { venv: root.join(&key) };
        let _lock = locked(&root.join(format!("{key}.lock")));
        if !python.finished("installed") {
            python.make(requirements);
            python.finish("installed");
        }
        python
    }

    /// Runs a script with arguments; its whole output comes back.
    pub fn run<S: AsRef<OsStr>>(&self, script: &Path, args: impl IntoIterator<Item = S>, bound: Duration) -> Finished {
        let mut command = self.command();
        command.arg(script).args(args);
        Process::run(command, bound)
    }

    /// Runs a script given as text.
    pub fn run_text<S: AsRef<OsStr>>(
        &self,
        script: &str,
        args: impl IntoIterator<Item = S>,
        bound: Duration,
    ) -> Finished {
        let mut command = self.command();
        command.arg("-c").arg(script).args(args);
        Process::run(command, bound)
    }

    /// The interpreter, to add arguments to. Isolated from the user's own packages and variables.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.venv.join("bin/python"));
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env("PYTHONUNBUFFERED", "1");
        command
    }

    fn make(&self, requirements: &[&str]) {
        if self.venv.exists() {
            fs::remove_dir_all(&self.venv).unwrap();
        }
        let mut command = Command::new(INTERPRETER);
        command.args(["-m", "venv"]).arg(&self.venv);
        let made = command.output().unwrap_or_else(|error| panic!("{INTERPRETER}: {error}; {INSTALL}"));
        let output = String::from_utf8_lossy(&made.stdout) + String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{INTERPRETER} -m venv failed; {INSTALL}\n{output}");
        let mut command = self.command();
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(requirements);
        expect_success(command, INSTALLATION);
    }

    /// Compiles the protocol into the environment's own packages.
    fn stubs(&self) {
        let _lock = locked(&self.venv.join("stubs.lock"));
        let digest: String = Sha256::digest(credgate_proto::PROTO).iter().map(|byte| format!("{byte:02x}")).collect();
        let mark = format!("stubs-{digest}");
        if self.finished(&mark) {
            return;
        }
        let source = self.venv.join("proto/credgate/v1");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("credential.proto"), credgate_proto::PROTO).unwrap();
        let script = "import sys, sysconfig; from grpc_tools import protoc; out = sysconfig.get_path('purelib'); \
            sys.exit(protoc.main(['', '-I' + sys.argv[1], '--python_out=' + out, '--grpc_python_out=' + out, \
            'credgate/v1/credential.proto']))";
        let mut command = self.command();
        command.args(["-c", script]).arg(self.venv.join("proto"));
        expect_success(command, INSTALLATION);
        self.finish(&mark);
    }

    fn finished(&self, step: &str) -> bool {
        self.venv.join(format!(".{step}")).exists()
    }

    fn finish(&self, step: &str) {
        fs::write(self.venv.join(format!(".{step}")), "").unwrap();
    }
}

/// Tests run in parallel, as threads and as processes. The lock ends with the file.
fn locked(path: &Path) -> File {
    let file = File::create(path).unwrap();
    file.lock().unwrap();
    file
}

fn expect_success(command: Command, bound: Duration) {
    let shown = format!("{command:?}");
    let finished = Process::run(command, bound);
    assert_eq!(finished.exit.code, Some(0), "{shown} failed:\n{}{}", finished.stdout, finished.stderr);
}

/// The distribution's own, the one the gateway embeds; not whatever comes first in PATH.
const INTERPRETER: &str = "/usr/bin/python3";
const INSTALL: &str = "on Debian: apt-get install python3-venv";
/// Wheels of some 20 MB on a slow line.
const INSTALLATION: Duration = Duration::from_secs(600);
