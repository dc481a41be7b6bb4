//! "The wait has no limit; it stands in the register of open waits … for as long as it lasts."

use std::{fs, net::SocketAddr};

use credgate_support::process::{Process, Signal};

use crate::ground::{BOUND, Ground, Unit, ended, page, place, told};

/// A wait that goes on until somebody ends it.
fn open_wait(ground: &Ground) -> (Unit, SocketAddr, Process) {
    let address = SocketAddr::new(place(), 7444);
    let unit = Unit::start([format!("listen {address} 503"), "wait".to_owned(), "exit 0".to_owned()]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "answered HTTP 503");
    (unit, address, wait)
}

fn waits(ground: &Ground) -> Vec<String> {
    let ended = ground.run(["waits"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn it_names_the_waits_for_as_long_as_they_last() {
    let ground = Ground::new();
    assert_eq!(waits(&ground), Vec::<String>::new(), "no folder, no wait");
    let (unit, address, wait) = open_wait(&ground);
    let listed = waits(&ground);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(listed[0].starts_with(&format!("process {} waits ", wait.pid())), "{listed:?}");
    assert!(listed[0].ends_with(&format!("s for unit gate at http://{address}/")), "{listed:?}");
    unit.end();
    ground.says_failed("gate");
    assert_eq!(ended(&wait).code, Some(1));
    assert_eq!((waits(&ground), ground.records()), (Vec::new(), Vec::new()));
}

#[test]
fn a_signal_takes_the_record_away() {
    for (signal, name, code) in
        [(Signal::INT, "SIGINT", 130), (Signal::TERM, "SIGTERM", 143), (Signal::HUP, "SIGHUP", 129)]
    {
        let ground = Ground::new();
        let (_unit, _, wait) = open_wait(&ground);
        assert_eq!(ground.records().len(), 1);
        wait.signal(signal);
        let ended = ended(&wait);
        let said = format!("{}: {name}: the wait is given up\n", crate::ground::host());
        assert_eq!((ended.code, ended.stderr), (Some(code), said));
        assert_eq!(ground.records(), Vec::<String>::new());
    }
}

/// As `nohup` starts it: a hangup that is ignored stays ignored.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let ground = Ground::new();
    let (_unit, address, other) = open_wait(&ground);
    let inner = ground.command(["await", "--interval", "50ms"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.args(page("gate", address));
    command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let wait = Process::start(command);
    told(&wait, "answered HTTP 503");
    wait.signal(Signal::HUP);
    other.terminate();
    other.wait(BOUND);
    assert!(wait.is_running());
    wait.terminate();
    assert_eq!(ended(&wait).code, Some(143));
}

#[test]
fn records_of_the_dead_are_dropped_and_others_left_alone() {
    let ground = Ground::new();
    let (_unit, _, wait) = open_wait(&ground);
    let (_other_unit, _, killed) = open_wait(&ground);
    killed.signal(Signal::KILL);
    killed.wait(BOUND);
    let own = ground.records().into_iter().find(|name| name.starts_with(&format!("{}-", wait.pid()))).unwrap();
    // A process with the number of a dead wait, which began at another time; half a record; a file that is none.
    let reused = format!("{}-1.wait", std::process::id());
    for name in [reused.as_str(), "4194304-7.wait", "4194304-7.wait.half", "README"] {
        ground.file(&format!("run/waits/{name}"), "unit old at 127.0.0.1:1\n");
    }
    assert_eq!(ground.records().len(), 6);
    let listed = waits(&ground);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let mut left = ground.records();
    left.sort();
    let mut wanted = vec![own, "README".to_owned()];
    wanted.sort();
    assert_eq!(left, wanted);
}

/// A wait that cannot be listed does not begin.
#[test]
fn a_register_that_cannot_be_written_is_named() {
    let ground = Ground::new();
    fs::write(ground.path("run"), "a file where the folder should be").unwrap();
    let unit = Unit::start(["wait"]);
    ground.says_running("gate", &unit.0);
    let refusal = ended(&ground.wait(page("gate", (place(), 7444).into()))).refusal();
    let wanted = format!("register of waits: {}: ", ground.path("run/waits").display());
    assert!(refusal.starts_with(&wanted), "{refusal}");
    let listed = ground.run(["waits"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stderr.starts_with(&format!("credgate-probe: {wanted}")), "{listed:?}");
}
