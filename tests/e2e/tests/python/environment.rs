//! What reaches a plugin: the configuration, secrets, search path and venv; and what does not: the environment.

use std::{fs, process::Command};

use credgate_support::{
    canary::Canary,
    deployment::Deployment,
    process::{Gateway, Process},
};
use toml::Value;

use crate::ground::{BOUND, registrar, stopped};

/// A plugin whose every password is an expression over `config` and what it imports.
fn tells(head: &str, expression: &str) -> String {
    format!(
        "{head}\nclass Plugin:\n    def lookup(self, node_id):\n        return {expression}\n\ndef create(given):\n    global config\n    config = given\n    return Plugin()\n"
    )
}

async fn answer(deployment: &Deployment, gateway: &Gateway) -> String {
    registrar(deployment, gateway).await.lookup("2000").await.unwrap()
}

#[tokio::test]
async fn configuration_and_secrets_arrive_as_they_are_and_are_never_shown() {
    let values = "text = 'é'\nnumber = -3\nfraction = 1.5\ntruth = true\nday = 2026-01-31\ntime = 2026-01-31T10:20:30Z\n\
        list = [1, 'two', [3.0]]\n[provider.python.config.table]\n\"a key\" = { inner = 'x' }";
    let expected = "{'text': 'é', 'number': -3, 'fraction': 1.5, 'truth': True, \
        'day': datetime.date(2026, 1, 31), \
        'time': datetime.datetime(2026, 1, 31, 10, 20, 30, tzinfo=datetime.timezone.utc), \
        'list': [1, 'two', [3.0]], 'table': {'a key': {'inner': 'x'}}}";
    let expression = format!(
        "repr((config == {expected}, type(config['number']) is int, config.secrets['api'] == 'secret-canary-é', \
         str(config.secrets), sorted(config.secrets)))"
    );
    let deployment = Deployment::mtls()
        .with_python(&tells("import datetime", &expression))
        .with_file("api.txt", "secret-canary-é\n")
        .merge("[provider.python.secret_files]\napi = 'api.txt'")
        .merge(&format!("[provider.python.config]\n{values}"))
        .set("lookup.password.max_bytes", 255);
    let gateway = deployment.start();
    assert_eq!(answer(&deployment, &gateway).await, "(True, True, True, 'Secrets(api)', ['api'])");
    Canary::new(["secret-canary-é"]).absent_from("the log", &stopped(&gateway, 0).await);
}

#[tokio::test]
async fn the_environment_decides_nothing() {
    let expression = "repr((sys.prefix, [p for p in sys.path if 'evil' in p], sys.flags.isolated, sys.flags.utf8_mode, \
        sys.dont_write_bytecode))";
    let deployment = Deployment::mtls()
        .with_python(&tells("import sys, json", expression))
        .with_file("json.py", "raise RuntimeError('the wrong one')")
        .with_file("python3", "#!/bin/sh\nexit 1\n");
    let mut command = deployment.command(["serve"]);
    let evil = deployment.path("evil");
    fs::create_dir(&evil).unwrap();
    command
        .env("PYTHONPATH", &evil)
        .env("PYTHONHOME", &evil)
        .env("PYTHONSTARTUP", evil.join("start.py"))
        .env("PYTHONUTF8", "0")
        .env("LC_ALL", "C")
        .env("VIRTUAL_ENV", &evil)
        .env("PATH", format!("{}:/usr/bin:/bin", deployment.dir().display()))
        .current_dir(deployment.dir());
    let gateway = Gateway::ready(Process::start(command));
    assert_eq!(answer(&deployment, &gateway).await, "('/usr', [], 1, 1, True)");
}

#[tokio::test]
async fn modules_are_found_by_dotted_name_and_beside_their_own_kind() {
    let deployment = Deployment::mtls()
        .with_python(&tells("from helper import word", "word"))
        .with_file("helper.py", "word = 'from the helper'");
    let folder = deployment.path("packages/stores");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("__init__.py"), "").unwrap();
    fs::rename(deployment.path("plugin.py"), folder.join("own.py")).unwrap();
    let deployment = deployment
        .set("provider.python.module", "stores.own")
        .set("provider.python.path", Value::Array(vec!["packages".into(), ".".into()]));
    let gateway = deployment.start();
    assert_eq!(answer(&deployment, &gateway).await, "from the helper");
    let line = gateway.log.wait_for(|line| line.says("provider open"), BOUND);
    assert!(line.field("summary").unwrap().contains("packages/stores/own.py"), "{}", line.text);
}

#[tokio::test]
async fn the_venvs_version_of_a_package_is_used_and_not_the_systems() {
    let expression = "f'{colorsys.VERSION} {sys.prefix} {sys.executable}'";
    let deployment = Deployment::mtls()
        .with_python(&tells("import sys, colorsys_of_both as colorsys", expression))
        .set("provider.python.venv", "venv")
        .set("lookup.password.max_bytes", 255);
    let venv = deployment.path("venv");
    let made = Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip", "--system-site-packages"])
        .arg(&venv)
        .output();
    assert!(made.is_ok_and(|made| made.status.success()), "apt-get install python3-venv");
    // One package twice: in a folder that comes last, as the system's does, and in the environment.
    let packages = glob(&venv.join("lib")).join("site-packages");
    fs::create_dir(deployment.path("system")).unwrap();
    fs::write(deployment.path("system/colorsys_of_both.py"), "VERSION = 'system'").unwrap();
    fs::write(packages.join("last.pth"), format!("{}\n", deployment.path("system").display())).unwrap();
    fs::write(packages.join("colorsys_of_both.py"), "VERSION = 'venv'").unwrap();
    let gateway = deployment.start();
    let venv = venv.display();
    assert_eq!(answer(&deployment, &gateway).await, format!("venv {venv} {venv}/bin/python"));
    let line = gateway.log.wait_for(|line| line.says("provider open"), BOUND);
    assert!(line.field("summary").unwrap().contains(&format!("prefix {venv}, ")), "{}", line.text);
}

fn glob(folder: &std::path::Path) -> std::path::PathBuf {
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[tokio::test]
async fn a_plugin_that_changes_the_folder_changes_nothing_for_us() {
    let deployment = Deployment::mtls()
        .with_python("import os\nclass Plugin:\n    def lookup(self, node_id):\n        os.chdir('/')\n        return 'password'\ndef create(config):\n    os.chdir('/')\n    return Plugin()\n")
        .set("health.file_interval", "50ms");
    deployment.write();
    let mut command = credgate_support::process::executable("credgate");
    command.args(["serve", "--config", "credgate.toml"]).current_dir(deployment.dir());
    let gateway = Gateway::ready(Process::start(command));
    assert_eq!(answer(&deployment, &gateway).await, "password");
    // The watch of files is alive, and has found nothing until a file really changes.
    fs::write(deployment.path("plugin.py"), "# another\n").unwrap();
    crate::ground::becomes(&gateway, "credgate_files_differ", 1.0).await;
    assert!(!gateway.log.text().contains("file is gone"), "{}", gateway.log.tail());
}
