//! Where facts come from, what their sources say besides, and what they refuse.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::{MetadataExt, PermissionsExt},
    process::Command,
};

use credgate_support::process::Process;

use crate::ground::{Ground, Unit, ended, page, place, told};

fn address() -> SocketAddr {
    SocketAddr::new(place(), 7444)
}

/// The real programs come to the same end as /proc: a decoy first, then the unit, then a unit elsewhere.
#[test]
fn ss_and_lsof_tell_the_same() {
    for tables in ["proc", "ss", "lsof"] {
        let (ground, address) = (Ground::new(), address());
        let decoy = Unit::start([format!("listen {address} 200")]);
        let unit = Unit::start(["wait".to_owned(), format!("listen {address} 200")]);
        ground.says_running("gate", &unit.0);
        let words = |address| [page("gate", address).to_vec(), vec!["--sockets".into(), tables.into()]].concat();
        let wait = ground.wait(words(address));
        told(&wait, "while another program answers");
        drop(decoy);
        unit.go_on();
        let served = ended(&wait).served();
        assert!(served.last().unwrap().starts_with("unit gate serves"), "{tables}: {served:?}");
        let refusal = ended(&ground.wait(words(self::address()))).refusal();
        assert!(
            refusal.starts_with(&format!("unit gate listens on TCP [{address}], not on the address of")),
            "{tables}: {refusal}"
        );
    }
}

/// "Any line the socket table's reader writes that is not a socket is printed": once, not at every read.
#[test]
fn lines_of_the_reader_that_are_no_sockets_are_shown() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("listen {address} 200")]);
    // A good answer that does not count yet is looked into at every read.
    ground.says("gate", "activating", "start", unit.pid());
    let row = format!("LISTEN 0 5 {address} 0.0.0.0:* users:((\"python3\",pid={},fd=3))", unit.pid());
    ground.program(
        "ss",
        &format!(
            "#!/bin/sh\necho '{row}'\necho 'a line that is no socket'\necho warning >&2\necho x >> {}\n",
            ground.path("calls").display()
        ),
    );
    let wait = ground.wait([page("gate", address).to_vec(), vec!["--sockets".into(), "ss".into()]].concat());
    told(&wait, "answered HTTP 200; reading it again");
    let calls = || fs::read_to_string(ground.path("calls")).unwrap_or_default().lines().count();
    while calls() < 5 {
        assert!(wait.is_running());
        std::thread::yield_now();
    }
    wait.terminate();
    let lines = ended(&wait).lines();
    let shown: Vec<_> = lines.iter().filter(|line| line.starts_with("socket table of unit gate: ")).collect();
    assert_eq!(shown, ["socket table of unit gate: a line that is no socket", "socket table of unit gate: warning"]);
}

/// launchd does not run here: an executable of that name prints what it would.
#[test]
fn launchd_by_its_own_program() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("listen {address} 200")]);
    let words = || {
        [
            page("net.example.gate", address).to_vec(),
            vec!["--manager".into(), "launchd".into(), "--sockets".into(), "lsof".into()],
        ]
        .concat()
    };
    ground.program("launchctl", &format!("#!/bin/sh\n[ \"$*\" = 'print system/net.example.gate' ] && printf 'system/net.example.gate = {{\\n\\tstate = running\\n\\tpid = {}\\n}}\\n'\n", unit.pid()));
    assert_eq!(ended(&ground.wait(words())).code, Some(0));
    ground.program("launchctl", "#!/bin/sh\nprintf 'x = {\\n\\tstate = not running\\n}\\n'\n");
    let refusal = ended(&ground.wait(words())).refusal();
    assert!(refusal.starts_with("unit net.example.gate is not running (launchd: not running); "), "{refusal}");
    ground.program(
        "launchctl",
        "#!/bin/sh\necho 'Could not find service \"net.example.gate\" in domain for system' >&2\nexit 113\n",
    );
    let refusal = ended(&ground.wait(words())).refusal();
    assert!(refusal.starts_with("unit net.example.gate is not running (launchd knows no such service); "), "{refusal}");
}

/// A host without systemd says so at once; one whose systemd is away for a moment is asked again.
#[test]
fn a_systemctl_that_fails() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("listen {address} 503"), "wait".to_owned(), "exit 0".to_owned()]);
    let broken = "#!/bin/sh\necho 'Failed to connect to bus: Host is down' >&2\nexit 1\n";
    let working = fs::read_to_string(ground.path("bin/systemctl")).unwrap();
    ground.program("systemctl", broken);
    let refusal = ended(&ground.wait(page("gate", address))).refusal();
    assert_eq!(refusal, "unit gate: systemctl failed: Failed to connect to bus: Host is down");
    ground.program("systemctl", &working);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "answered HTTP 503");
    // A new file: the old one may be executing.
    fs::remove_file(ground.path("bin/systemctl")).unwrap();
    ground.program("systemctl", broken);
    unit.end();
    told(&wait, "unit gate: systemctl failed: Failed to connect to bus: Host is down; ");
    ground.says_failed("gate");
    fs::remove_file(ground.path("bin/systemctl")).unwrap();
    ground.program("systemctl", &working);
    let refusal = ended(&wait).refusal();
    assert!(refusal.starts_with("unit gate is no longer running (systemd: failed (failed))"), "{refusal}");
    let mut command = ground.command(["await"]);
    command.args(page("gate", address)).env("PATH", "/nowhere");
    let refusal = ended(&Process::start(command)).refusal();
    assert_eq!(refusal, "unit gate: systemctl is not installed; without systemd, give --pid or --pid-file");
}

/// "What needs root (another user's sockets) is said in the error."
#[test]
fn another_users_process_needs_root() {
    let ground = Ground::new();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // A copy that everybody may execute, as nobody when this test is root; else process 1 is another user's.
    let (folder, program) = (ground.path("open"), ground.path("open/credgate-probe"));
    fs::create_dir(&folder).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_credgate-probe"), &program).unwrap();
    for path in [ground.path(""), folder.clone()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let unit = Unit::start(["wait"]);
    let pid = if is_root { unit.pid() } else { 1 };
    for tables in ["proc", "ss", "lsof"] {
        let mut command = Command::new(if is_root { "setpriv" } else { "env" });
        if is_root {
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        }
        command.arg(&program).args(["await", "--pid", &pid.to_string(), "--addr", &format!("http://{}/", address())]);
        command.args(["--sockets", tables]).env("CREDGATE_RUNTIME_DIR", folder.join(tables));
        let refusal = ended(&Process::start(command)).refusal();
        assert_eq!(
            refusal,
            format!(
                "process {pid}: process {pid} belongs to another user, and looking at its sockets needs root (CAP_SYS_PTRACE) or that user"
            ),
            "{tables}"
        );
    }
}
