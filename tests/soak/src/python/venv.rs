//! A venv with another version of a package than the system's: which one the plugin gets.

use std::process::Command;

use credgate_support::{deployment::Deployment, process::Process};

use super::{BOUND, block_on, registrar};

/// Small packages that Debian's Python often has, each with a version older than any of Debian's.
const PACKAGES: [(&str, &str); 3] = [("six", "1.15.0"), ("packaging", "20.9"), ("toml", "0.10.1")];

pub fn run() {
    let versions = PACKAGES.map(|(package, older)| (package, older, system_version(package)));
    let found = versions.iter().find_map(|(package, older, system)| Some((*package, *older, system.clone()?)));
    let Some((package, older, system)) = found else {
        panic!("the system's Python has none of {PACKAGES:?}: apt-get install python3-six");
    };
    assert_ne!(system, older, "the system's {package} is the version that the venv was to differ by");

    let plugin = format!(
        "import {package}\nclass Plugin:\n    def lookup(self, node_id):\n        return {package}.__version__\n\
         def create(config):\n    return Plugin()\n"
    );
    let deployment = Deployment::mtls().with_python(&plugin).set("provider.python.venv", "venv");
    let venv = deployment.path("venv");
    let mut make = Command::new("/usr/bin/python3");
    make.args(["-m", "venv", "--system-site-packages"]).arg(&venv);
    let mut install = Command::new(venv.join("bin/pip"));
    install.args(["install", "--quiet", "--ignore-installed", &format!("{package}=={older}")]);
    for command in [make, install] {
        let finished = Process::run(command, BOUND);
        assert_eq!(finished.exit.code, Some(0), "{finished:?}");
    }
    let gateway = deployment.start();
    let found = block_on(async { registrar(&deployment, &gateway).await.lookup("2000").await.unwrap() });
    println!("{package}: the system's {system}, the venv's {older}, the plugin's {found}");
    assert_eq!(found, older);
}

/// Which version of a package the system's Python has, if any.
fn system_version(package: &str) -> Option<String> {
    let mut ask = Command::new("/usr/bin/python3");
    ask.args(["-c", &format!("import {package}; print({package}.__version__)")]);
    let told = Process::run(ask, BOUND);
    (told.exit.code == Some(0)).then(|| told.stdout.trim().to_owned())
}
