//! Processes, tried on a shell.

use std::panic::catch_unwind;

use super::*;

const BOUND: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::start(command)
}

#[test]
fn lines_are_waited_for_and_signals_arrive() {
    let process = shell(
        "trap 'echo bye >&2; exit 7' TERM; echo '{\"message\":\"ready\",\"n\":3}' >&2; while :; do sleep 0.05; done",
    );
    let line = process.log.wait_for(|line| line.says("ready"), BOUND);
    assert_eq!(line.number("n"), Some(3.0));
    let usage = process.usage();
    assert!(usage.memory > 0 && usage.threads == 1 && usage.descriptors >= 3, "{usage:?}");
    assert!(process.is_running());
    let mark = process.log.mark();
    process.terminate();
    process.log.wait_after(mark, |line| line.text == "bye", BOUND);
    let exit = process.wait(BOUND);
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    assert!(!process.is_running());
    process.signal(Signal::KILL);
}

#[tokio::test]
async fn waiting_leaves_the_runtime_free() {
    let process = shell("read line; sleep 0.1; echo late >&2; exit 3");
    let (line, exit) = tokio::join!(process.log.seen(0, |line| line.text == "late", BOUND), process.ended(BOUND));
    assert_eq!((line.text.as_str(), exit.code), ("late", Some(3)));
}

#[test]
fn a_missing_line_shows_the_tail() {
    let process = shell("echo first >&2; echo second >&2");
    let log = process.log.clone();
    let error = catch_unwind(|| log.wait_for(|line| line.says("never"), BOUND)).unwrap_err();
    let text = error.downcast_ref::<String>().unwrap();
    assert!(text.contains("first\n    second") && text.contains("closed"), "{text}");
}

#[test]
fn a_wait_has_its_bound() {
    let process = shell("echo up >&2; exec sleep 100");
    process.log.wait_for(|line| line.text == "up", BOUND);
    process.signal(Signal::STOP);
    let error = catch_unwind(std::panic::AssertUnwindSafe(|| process.wait(Duration::from_millis(50)))).unwrap_err();
    assert!(error.downcast_ref::<String>().unwrap().contains("has not ended within 50ms"));
    let pid = process.pid();
    drop(process);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn output_is_collected() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo out; echo err >&2; kill -9 $$"]);
    let finished = Process::run(command, BOUND);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((finished.exit.code, finished.exit.signal), (None, Some(9)));
}
