//! A venv with another version of a package than the system's: which one the plugin gets.

use std::process::Command;

use credgate_support::{deployment::Deployment, process::Process};

use super::{BOUND, block_on, registrar};

/// A package that Debian's Python often has; the version is older than any of them.
const PACKAGE: &str = "packaging==20.9";
const TELLS: &str = "import packaging; print(packaging.__version__)";
const PLUGIN: &str = "import packaging
class Plugin:
    def lookup(self, node_id):
        return packaging.__version__
def create(config):
    return Plugin()
";

pub fn run() {
    let deployment = Deployment::mtls().with_python(PLUGIN).set("provider.python.venv", "venv");
    let venv = deployment.path("venv");
    let mut make = Command::new("/usr/bin/python3");
    make.args(["-m", "venv", "--system-site-packages"]).arg(&venv);
    let mut install = Command::new(venv.join("bin/pip"));
    install.args(["install", "--quiet", "--ignore-installed", PACKAGE]);
    for command in [make, install] {
        let finished = Process::run(command, BOUND);
        assert_eq!(finished.exit.code, Some(0), "{finished:?}");
    }
    let mut system = Command::new("/usr/bin/python3");
    system.args(["-c", TELLS]);
    let system = Process::run(system, BOUND);
    let system = if system.exit.code == Some(0) { system.stdout.trim().to_owned() } else { "absent".into() };
    let gateway = deployment.start();
    let found = block_on(async { registrar(&deployment, &gateway).await.lookup("2000").await.unwrap() });
    println!("packaging: the system's {system}, the venv's 20.9, the plugin's {found}");
    assert_eq!(found, "20.9");
}
