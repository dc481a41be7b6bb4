//! The ways in which a wait ends, and those in which it does not.

use std::net::SocketAddr;

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    metrics::{self, Metrics},
    pki::Token,
    process::Process,
};

use crate::ground::{BOUND, Ground, Moody, Unit, asking, ended, page, place, told, unit};

fn address() -> SocketAddr {
    SocketAddr::new(place(), 7444)
}

/// "… until it answers 2xx from that process."
#[tokio::test(flavor = "multi_thread")]
async fn not_serving_and_then_serving() {
    let (ground, moody) = (Ground::new(), Moody::start().await);
    moody.becomes(ServingStatus::NotServing).await;
    ground.says_running("gate", &moody.gateway);
    let (deployment, address) = (&moody.deployment, moody.gateway.control);
    let wait = ground.wait([unit("gate"), asking(deployment, address, &deployment.probe)].concat());
    told(&wait, "answered NOT_SERVING");
    assert!(wait.is_running());
    moody.becomes(ServingStatus::Serving).await;
    let pid = moody.gateway.pid();
    assert_eq!(
        ended(&wait).served(),
        [
            format!("unit gate is process {pid}"),
            format!("unit gate runs; {address} answered NOT_SERVING; reading it again"),
            format!("unit gate serves; {address} answered SERVING (process {pid})"),
        ]
    );
}

/// "A health probe ends on facts, never on a count of attempts or a clock", and "every answer that differs from the one
/// before is printed".
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_answers_are_printed_once_and_end_nothing() {
    let (ground, moody) = (Ground::new(), Moody::start().await);
    moody.becomes(ServingStatus::NotServing).await;
    let (deployment, gateway) = (&moody.deployment, &moody.gateway);
    let mut command = ground.command(["await", "--interval", "1ms", "--pid", &gateway.pid().to_string()]);
    command.args(asking(deployment, gateway.control, &deployment.probe));
    let wait = Process::start(command);
    told(&wait, "answered NOT_SERVING");
    let reads = |page: &Metrics| page.sum("credgate_rpcs_total", &[("method", "Check")]);
    metrics::wait_for(gateway.metrics.unwrap(), |page| reads(page) >= 100.0, BOUND).await;
    assert!(wait.is_running());
    moody.becomes(ServingStatus::Serving).await;
    assert_eq!(ended(&wait).served().len(), 2);
}

/// "A 4xx answer from the unit is the service refusing the request itself, so the move is rolled back at once": a real
/// gateway refuses a token. Its other refusals stand in `answers.rs`.
#[test]
fn a_refusal_of_the_unit_itself_ends_the_wait() {
    let (ground, deployment) = (Ground::new(), Deployment::mtls());
    let gateway = deployment.start();
    ground.says_running("gate", &gateway);
    let stranger = deployment.probe.with_token(Token::random());
    let wait = ground.wait([unit("gate"), asking(&deployment, gateway.control, &stranger)].concat());
    let wanted = "answered UNAUTHENTICATED (the gateway does not accept this token, or the certificate belongs to another identity) \
                  while unit gate runs; the service refuses the request, so the wait does not go on";
    assert_eq!(ended(&wait).refusal(), format!("{} {wanted}", gateway.control));
}

/// "A process that listens on ports none of which is the probe URL's is serving elsewhere."
#[test]
fn a_unit_that_listens_elsewhere() {
    let (ground, wanted, other) = (Ground::new(), address(), place());
    let unit = Unit::start([format!("bind {other}:7002"), format!("bind {other}:7001")]);
    ground.says_running("gate", &unit.0);
    let refusal = |answered: &str| {
        format!(
            "unit gate listens on TCP [7001, 7002], not on port 7444 of http://{wanted}/, which {answered}; \
             the address or the service's port is wrong"
        )
    };
    let wait = ground.wait(page("gate", wanted));
    assert_eq!(ended(&wait).refusal(), refusal("gave no answer (connect: connection refused)"));
    let _decoy = Unit::start([format!("listen {wanted} 200")]);
    assert_eq!(ended(&ground.wait(page("gate", wanted))).refusal(), refusal("answered HTTP 200"));
}

/// The right port of the wrong address is elsewhere too.
#[test]
fn a_unit_that_listens_at_another_address() {
    let (ground, wanted, other) = (Ground::new(), address(), address());
    let unit = Unit::start([format!("listen {other} 200")]);
    ground.says_running("gate", &unit.0);
    let refusal = ended(&ground.wait(page("gate", wanted))).refusal();
    let beginning =
        format!("unit gate listens on TCP [{other}], not on the address of http://{wanted}/, which gave no answer");
    assert!(refusal.starts_with(&beginning), "{refusal}");
}

/// "A process that listens on no port yet is still starting, and one … that answers 5xx is the service saying it is not
/// ready; both are read again."
#[test]
fn a_unit_that_is_still_starting() {
    let (ground, address) = (Ground::new(), address());
    let unit =
        Unit::start(["wait".to_owned(), format!("listen {address} 503"), "wait".to_owned(), "exit 1".to_owned()]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    let pid = unit.pid();
    told(
        &wait,
        &format!("(connect: connection refused); reading it again (process {pid} does not listen on port 7444 yet)"),
    );
    unit.go_on();
    told(&wait, &format!("unit gate runs; http://{address}/ answered HTTP 503; reading it again"));
    unit.end();
    ground.says_failed("gate");
    let wanted =
        format!("unit gate is no longer running (systemd: failed (failed)); http://{address}/ last answered HTTP 503");
    assert_eq!(ended(&wait).refusal(), wanted);
}

/// "A new process id is printed."
#[test]
fn a_unit_that_restarts() {
    let (ground, address) = (Ground::new(), address());
    let (first, second) =
        (Unit::start(["wait", "exit 1"]), Unit::start(["wait".to_owned(), format!("listen {address} 200")]));
    ground.says_running("gate", &first.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "does not listen on port 7444 yet");
    // As systemd restarts it: for a moment there is a job and no process.
    ground.says("gate", "activating", "start-pre", 0);
    first.end();
    told(&wait, "unit gate has no process yet (systemd: activating (start-pre))");
    ground.says_running("gate", &second.0);
    told(&wait, &format!("unit gate restarted: process {} is now {}", first.pid(), second.pid()));
    second.go_on();
    let last = format!("unit gate serves; http://{address}/ answered HTTP 200 (process {})", second.pid());
    assert_eq!(ended(&wait).served().last(), Some(&last));
}

/// A crash that systemd will answer with a restart is an end: the next process may go the same way, for ever.
#[test]
fn a_unit_that_crashes_is_gone_though_systemd_will_restart_it() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("listen {address} 503"), "wait".to_owned(), "exit 69".to_owned()]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "answered HTTP 503");
    ground.says("gate", "activating", "auto-restart", 0);
    unit.end();
    let refusal = ended(&wait).refusal();
    assert!(refusal.starts_with("unit gate is no longer running (systemd: activating (auto-restart))"), "{refusal}");
}

/// systemd's word that the unit is on its way up or down outweighs a good answer.
#[test]
fn an_answer_counts_when_systemd_calls_the_unit_active() {
    let (ground, address) = (Ground::new(), address());
    let unit = Unit::start([format!("listen {address} 200")]);
    for (active, sub) in [("activating", "start"), ("deactivating", "stop-sigterm")] {
        ground.says("gate", active, sub, unit.pid());
        let wait = ground.wait(page("gate", address));
        told(&wait, &format!("answered HTTP 200; reading it again (systemd: {active} ({sub}))"));
        ground.says_running("gate", &unit.0);
        assert_eq!(ended(&wait).code, Some(0));
    }
}

#[test]
fn a_unit_that_systemd_does_not_know() {
    let (ground, address) = (Ground::new(), address());
    let refusal = ended(&ground.wait(page("gate", address))).refusal();
    let wanted = format!(
        "unit gate is not running (systemd knows no such unit); http://{address}/ last gave no answer (connect: connection refused)"
    );
    assert_eq!(refusal, wanted);
}

/// `--pid` means one process, `--pid-file` whichever the file names.
#[test]
fn processes_by_number_and_by_file() {
    let (ground, address) = (Ground::new(), address());
    let first = Unit::start([format!("listen {address} 503"), "wait".to_owned(), "exit 0".to_owned()]);
    let page = ["--addr".to_owned(), format!("http://{address}/")];
    let file = ground.file("gate.pid", format!("{}\n", first.pid()));
    let words = |flag: &str, value: String| [vec![flag.to_owned(), value], page.to_vec()].concat();
    let by_number = ground.wait(words("--pid", first.pid().to_string()));
    let by_file = ground.wait(words("--pid-file", file.display().to_string()));
    told(&by_number, "answered HTTP 503");
    told(&by_file, "answered HTTP 503");
    let second = Unit::start(["wait".to_owned(), format!("listen {address} 200")]);
    ground.file("new.pid", second.pid().to_string());
    std::fs::rename(ground.path("new.pid"), &file).unwrap();
    told(
        &by_file,
        &format!("the process of {} restarted: process {} is now {}", file.display(), first.pid(), second.pid()),
    );
    first.end();
    let refusal = ended(&by_number).refusal();
    let gone = format!(
        "process {} is no longer running (there is no such process); http://{address}/ last answered HTTP 503",
        first.pid()
    );
    assert_eq!(refusal, gone);
    second.go_on();
    assert_eq!(ended(&by_file).code, Some(0));
    for (content, wanted) in
        [("", "the file does not hold a process number"), ("x", "the file does not hold a process number")]
    {
        ground.file("gate.pid", content);
        let refusal = ended(&ground.wait(words("--pid-file", file.display().to_string()))).refusal();
        assert!(refusal.contains(wanted), "{refusal}");
    }
    let refusal = ended(&ground.wait(words("--pid-file", "/nowhere/a.pid".into()))).refusal();
    assert!(refusal.contains("/nowhere/a.pid is not running (there is no such file)"), "{refusal}");
}
