//! The start: imports that fail, hang or leave, modules of the wrong shape, and what `check-config` says of all this.

use credgate_support::{
    deployment::Deployment,
    process::{Finished, Process},
};
use toml::Value;

use crate::ground::{BOUND, plugin, refused};

const GOOD: &str = "return 'password'";

/// Both ways in say the same, with the same code.
fn both_refuse(deployment: &Deployment, code: i32, said: &str) {
    let checked = Process::run(deployment.command(["check-config", "--open"]), BOUND);
    for finished in [refused(deployment), checked] {
        assert_eq!(finished.exit.code, Some(code), "{finished:?}");
        assert!(finished.stderr.contains(said), "no {said:?} in {}", finished.stderr);
        assert!(!finished.stderr.contains("secret-canary"), "{}", finished.stderr);
    }
}

#[test]
fn an_import_that_fails_is_told_with_file_and_line() {
    for (head, said) in [
        ("\n\nimport no_such_module_here", "the import raised ModuleNotFoundError of no_such_module_here at"),
        ("from json import no_such_name", "the import raised ImportError of json at"),
        ("\nraise ValueError('secret-canary')", "the import raised ValueError at"),
        ("\nif True", "the import raised SyntaxError at"),
        ("import sys; sys.exit('secret-canary')", "the import raised SystemExit at"),
        ("import sys; sys.exit(0)", "the import raised SystemExit at"),
        ("raise KeyboardInterrupt", "the import raised KeyboardInterrupt at"),
    ] {
        let deployment = Deployment::mtls().with_python(&plugin(head, GOOD));
        both_refuse(&deployment, 78, said);
        let line = 1 + head.lines().count();
        both_refuse(&deployment, 78, &format!("/plugin.py:{line}"));
        both_refuse(&deployment, 78, "provider.python.module");
    }
}

#[test]
fn a_create_that_fails_is_told_and_an_outage_is_no_mistake_of_the_configuration() {
    for (create, code, said) in [
        ("def create(config): raise KeyError('secret-canary')", 78, "create() raised KeyError at"),
        ("def create(config): raise SystemExit", 78, "create() raised SystemExit at"),
        (
            "def create(config): raise ConnectionRefusedError('secret-canary')",
            69,
            "create() raised ConnectionRefusedError",
        ),
        ("def create(config): raise credgate.Unavailable", 69, "create() raised Unavailable at"),
        ("async def create(config): raise TimeoutError", 69, "create() raised TimeoutError at"),
        ("def create(): return Plugin()", 78, "create must be callable with one argument, the config"),
        ("def create(config): return None", 78, "has no lookup(node_id)"),
        ("def create(config): return object()", 78, "has no lookup(node_id)"),
        ("create = 1", 78, "create is not a function"),
        ("", 78, "the module has no function create(config)"),
    ] {
        let text = plugin("", GOOD);
        let text = text.replace("def create(config):\n    return Plugin()", create);
        both_refuse(&Deployment::mtls().with_python(&text), code, said);
    }
}

#[test]
fn a_plugin_of_the_wrong_shape_does_not_start() {
    for (lookup, said) in [
        ("def lookup(self): return None", "lookup must be callable with one argument, the node ID"),
        ("def lookup(self, node_id): yield 'password'", "lookup is a generator"),
        ("async def lookup(self, node_id): yield 'password'", "lookup is a generator"),
        ("lookup = 'password'", "lookup is not a function"),
        (
            "def lookup(self, node_id): return None\n    def check(self, why): pass",
            "check must be callable with no argument",
        ),
        ("def lookup(self, node_id): return None\n    close = 1", "close is not a function"),
    ] {
        let text = format!("class Plugin:\n    {lookup}\n\ndef create(config): return Plugin()\n");
        both_refuse(&Deployment::mtls().with_python(&text), 78, said);
    }
}

#[test]
fn the_first_check_decides_whether_it_starts() {
    for (check, code, said) in [
        ("def check(self): raise OSError('secret-canary')", 69, "raised OSError at"),
        ("def check(self): return False", 69, "check() returned False"),
        ("async def check(self): raise credgate.Unavailable", 69, "raised Unavailable at"),
        ("def check(self): return 'fine'", 1, "returned a value of type str"),
        ("def check(self): raise KeyError('secret-canary')", 1, "raised KeyError at"),
        ("def check(self): import time; time.sleep(1e6)", 69, "did not end in time"),
        ("async def check(self): import asyncio; await asyncio.sleep(1e6)", 69, "backend timed out"),
    ] {
        let text = plugin("", GOOD).replace("\ndef create", &format!("\n    {check}\n\ndef create"));
        let deployment = Deployment::mtls().with_python(&text).merge("[health]\ntimeout = '500ms'");
        let finished = refused(&deployment);
        assert_eq!(finished.exit.code, Some(code), "{check}: {finished:?}");
        let told = finished.stderr.contains(said) || (code == 69 && finished.stderr.contains("TimeoutError"));
        assert!(told && !finished.stderr.contains("secret-canary"), "{check}: {}", finished.stderr);
    }
}

#[test]
fn a_slow_import_ends_at_open_timeout_and_a_signal_ends_it_before() {
    let slow = plugin("import time; time.sleep(1e6)", GOOD);
    let deployment = Deployment::mtls().with_python(&slow).set("provider.open_timeout", "500ms");
    both_refuse(&deployment, 69, "did not open within provider.open_timeout (500ms)");

    let process = Deployment::mtls().with_python(&slow);
    let process = (process.spawn(), process);
    credgate_support::process::address(&process.0, "control");
    process.0.terminate();
    assert_eq!(process.0.wait(BOUND).code, Some(0), "{}", process.0.log.tail());
}

fn check(deployment: &Deployment, arguments: &[&str]) -> Finished {
    Process::run(deployment.command([&["check-config"], arguments].concat()), BOUND)
}

#[test]
fn check_config_runs_no_python_and_with_open_shows_what_runs() {
    let deployment = Deployment::mtls().with_python("this is not Python\n");
    let finished = check(&deployment, &[]);
    assert_eq!(finished.exit.code, Some(0), "{finished:?}");

    let deployment = Deployment::mtls().with_python(&plugin("", GOOD)).set("provider.python.path", strings(&["."]));
    let finished = check(&deployment, &["--open"]);
    assert_eq!(finished.exit.code, Some(0), "{finished:?}");
    let (file, folder) = (deployment.path("plugin.py"), deployment.dir());
    for said in [
        "Python 3.",
        ", prefix /usr, ",
        &format!("module {}, lookup is def, search path {}", file.display(), folder.display()),
        "16 lookups at once",
    ] {
        assert!(finished.stdout.contains(said), "no {said:?} in {}", finished.stdout);
    }
}

#[test]
fn check_config_finds_what_can_be_found_without_python() {
    let venv = "home = /usr/bin\nversion = 3.4.1\n";
    let deployment = Deployment::mtls()
        .with_python("")
        .set("provider.python.module", "missing.py")
        .set("provider.python.path", strings(&["missing"]))
        .set("provider.python.venv", ".")
        .set("provider.python.workers", 0)
        .with_file("pyvenv.cfg", venv)
        .with_file("empty", "")
        .merge("[provider.python]\nsecret_files = { one = 'missing.txt', two = 'empty', three = 3 }\nmodul = 1")
        .merge("[provider.python.config]\nlarge = inf");
    let finished = check(&deployment, &[]);
    assert_eq!(finished.exit.code, Some(78), "{finished:?}");
    for said in [
        "provider.python.module: ",
        "missing.py: cannot be read",
        "missing is not a folder",
        "venv: was made by another Python than 3.",
        "workers: is out of range; allowed are 1 to 1024",
        "secret_files.one: ",
        "empty: is empty",
        "secret_files.three: expected the path of a file",
        "config: holds a number that is infinite or beyond 64 bits",
        "modul: is not a setting; did you mean \"module\"?",
    ] {
        assert!(finished.stderr.contains(said), "no {said:?} in {}", finished.stderr);
    }
    for (module, said) in [("not-a.name", "is neither a file (plugin.py) nor a dotted name"), ("", "is neither a file")]
    {
        let finished = check(&Deployment::mtls().with_python("").set("provider.python.module", module), &[]);
        assert!(finished.exit.code == Some(78) && finished.stderr.contains(said), "{finished:?}");
    }
}

#[test]
fn more_slots_than_workers_are_a_problem() {
    let deployment = Deployment::mtls().with_python(&plugin("", GOOD)).set("lookup.slots", 17);
    let finished = check(&deployment, &[]);
    assert!(finished.exit.code == Some(78) && finished.stderr.contains("lookup.slots"), "{finished:?}");
}

fn strings(texts: &[&str]) -> Value {
    Value::Array(texts.iter().map(|text| Value::from(*text)).collect())
}
