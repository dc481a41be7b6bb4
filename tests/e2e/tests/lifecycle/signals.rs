//! Signals and surroundings that must do no harm: PID 1, a closed standard error, SIGPIPE, SIGHUP at any time; and what
//! the system may keep of the memory.

use std::{
    fs, io,
    path::Path,
    process::{Child, Command, Stdio},
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Line, Process, Signal, address},
};
use tokio::time::{Duration, interval, timeout};

use crate::{
    ground::{BOUND, registrar, said},
    replicas::place,
};

/// The gateway as PID 1 of a namespace of its own, and its process id out here.
fn as_pid_1(deployment: &Deployment) -> (Process, String) {
    let inner = deployment.command_of("credgate-scripted", ["serve"]);
    assert!(Path::new("/usr/bin/unshare").exists(), "this test needs unshare: apt-get install util-linux");
    let mut command = Command::new("/usr/bin/unshare");
    if !is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(inner.get_program()).args(inner.get_args());
    command.env_remove("CREDGATE_CONFIG").env_remove("RUST_LOG");
    let process = Process::start(command);
    // Its first line shows that the namespace stands; otherwise the log says why not.
    address(&process, "control");
    let children = format!("/proc/{0}/task/{0}/children", process.pid());
    let pid = fs::read_to_string(children).unwrap().trim().to_owned();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let inner_pid = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    assert_eq!(inner_pid.split_whitespace().last(), Some("1"), "{inner_pid}");
    (process, pid)
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t"))
}

fn kill(signal: &str, pid: &str) {
    let status = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap();
    assert!(status.success(), "kill -{signal} {pid}");
}

#[tokio::test]
async fn pid_1_obeys_sigterm_while_it_starts_and_while_it_serves() {
    let hanging = Deployment::mtls().with_scripted(4).set("provider.scripted.open", "hang");
    let (process, pid) = as_pid_1(&hanging);
    kill("TERM", &pid);
    assert_eq!(process.ended(BOUND).await.code, Some(0), "{}", process.log.tail());
    assert_eq!(said(&process, "stopped before it was ready"), 1);

    let deployment = Deployment::mtls().with_scripted(4);
    let (process, pid) = as_pid_1(&deployment);
    let gateway = Gateway::ready(process);
    kill("HUP", &pid);
    gateway.log.seen(0, |line| line.text.contains("SIGHUP ignored"), BOUND).await;
    let client = registrar(&deployment, &gateway).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    kill("TERM", &pid);
    assert_eq!(gateway.ended(BOUND).await.code, Some(0), "{}", gateway.log.tail());
    assert_eq!(said(&gateway, "stopped"), 1);
}

#[tokio::test]
async fn sighup_while_starting_is_ignored_too() {
    let deployment = Deployment::mtls().with_scripted(4).set("provider.scripted.open", "hang");
    let process = deployment.spawn_scripted();
    address(&process, "scripted");
    process.signal(Signal::HUP);
    process.log.seen(0, |line: &Line| line.text.contains("SIGHUP ignored"), BOUND).await;
    assert!(process.is_running());
    process.terminate();
    assert_eq!(process.ended(BOUND).await.code, Some(0));
}

#[tokio::test]
async fn sigpipe_and_the_signals_of_a_terminal_do_no_harm() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for signal in [Signal::PIPE, Signal::WINCH, Signal::URG, Signal::CHILD] {
        gateway.signal(signal);
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"), "{signal:?}");
    }
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}

/// Killed when the test is over, however it ends.
struct Mute(Child);

impl Drop for Mute {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nobody reads its log any more: a log collector that died, or standard error that was closed from the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_reads_is_no_reason_to_fail() {
    for closed in [false, true] {
        let place = place();
        let deployment = Deployment::mtls()
            .set("lookup.listen", format!("{place}:7443"))
            .set("control.listen", format!("{place}:7444"))
            .remove("metrics");
        let serve = deployment.command(["serve"]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", if closed { "exec \"$@\" 2>&-" } else { "exec \"$@\"" }, "sh"]);
        command.arg(serve.get_program()).args(serve.get_args()).stdin(Stdio::null()).stdout(Stdio::null());
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut gateway = Mute(command.stderr(writer).spawn().unwrap());
        drop(command);

        let mut ticks = interval(Duration::from_millis(20));
        let ready = async {
            loop {
                ticks.tick().await;
                let dialled = Client::dial(&deployment, (place, 7443).into(), &deployment.registrar, BOUND).await;
                if let Ok(client) = dialled {
                    return client;
                }
            }
        };
        let client = timeout(BOUND, ready).await.unwrap_or_else(|_| panic!("closed: {closed}, never ready"));
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
        // Refusals are logged: each of these would be a line.
        for _ in 0..3 {
            let stranger = deployment.registrar.with_token(credgate_support::pki::Token::random());
            let stranger = Client::open(&deployment, (place, 7443).into(), &stranger).await;
            assert_eq!(stranger.lookup("2000").await.unwrap_err(), "UNAUTHENTICATED");
        }
        assert_eq!(client.check("readiness").await, Ok(ServingStatus::Serving));
        kill("HUP", &gateway.0.id().to_string());
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
        kill("TERM", &gateway.0.id().to_string());
        let ended = timeout(BOUND, async {
            loop {
                if let Some(status) = gateway.0.try_wait().unwrap() {
                    return status;
                }
                ticks.tick().await;
            }
        });
        assert_eq!(ended.await.unwrap().code(), Some(0), "closed: {closed}");
    }
}

/// Memory holds every password in clear.
#[test]
fn no_core_dump_is_written() {
    let deployment = Deployment::mtls();
    let serve = deployment.command(["serve"]);
    let mut command = Command::new("/bin/sh");
    // As much as may be had: the gateway must take it away itself.
    command.args(["-c", "ulimit -S -c \"$(ulimit -H -c)\"; exec \"$@\"", "sh"]);
    command.arg(serve.get_program()).args(serve.get_args());
    let gateway = Gateway::ready(Process::start(command));
    let limits = fs::read_to_string(format!("/proc/{}/limits", gateway.pid())).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
}
