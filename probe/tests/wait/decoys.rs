//! "A 2xx or 4xx counts only once the socket table shows the unit's process listening on the URL's port, since another
//! program on that port answered 2xx for a unit that had exited and the move committed a service that never ran."

use std::net::SocketAddr;

use credgate_support::{deployment::Deployment, pki::Token, process::Gateway};

use crate::ground::{BOUND, Ground, Unit, asking, ended, page, place, told, unit as unit_words};

/// A gateway that serves at a place, and the deployment whose next process wants the same place.
fn decoy() -> (Deployment, Gateway) {
    let place = place();
    let deployment =
        Deployment::mtls().set("lookup.listen", format!("{place}:7443")).set("control.listen", format!("{place}:7444"));
    let decoy = deployment.start();
    (deployment, decoy)
}

fn taken(address: SocketAddr) -> String {
    format!(
        "{address} last answered SERVING, from another program listening on port {}: the unit's own log says why it \
         exited, and the port that its configuration gives it is taken",
        address.port()
    )
}

/// The case that made the rule: real gateways, and the new one never runs.
#[test]
fn a_unit_that_finds_its_port_taken_is_refused_though_the_port_answers_serving() {
    let (ground, (deployment, decoy)) = (Ground::new(), decoy());
    let unit = deployment.spawn();
    assert_eq!(unit.wait(BOUND).code, Some(1), "{}", unit.log.tail());
    let asking = asking(&deployment, decoy.control, &deployment.probe);
    // As systemd says it: failed; and as a process number says it: none of that number.
    ground.says_failed("gate");
    let by_unit = ended(&ground.wait([unit_words("gate"), asking.clone()].concat()));
    assert_eq!(
        by_unit.refusal(),
        format!("unit gate is not running (systemd: failed (failed)); {}", taken(decoy.control))
    );
    let pid = unit.pid().to_string();
    let by_pid = ended(&ground.wait([vec!["--pid".into(), pid.clone()], asking].concat()));
    let wanted = format!("process {pid} is not running (there is no such process); {}", taken(decoy.control));
    assert_eq!(by_pid.refusal(), wanted);
}

#[test]
fn a_unit_that_exits_after_the_decoy_answered_for_it() {
    let (ground, (deployment, decoy)) = (Ground::new(), decoy());
    let unit = Unit::start(["wait", "exit 3"]);
    ground.says_running("gate", &unit.0);
    let asking = asking(&deployment, decoy.control, &deployment.probe);
    let wait = ground.wait([unit_words("gate"), asking].concat());
    told(&wait, "while another program answers");
    assert!(wait.is_running());
    unit.end();
    ground.says_failed("gate");
    let ended = ended(&wait);
    let wanted = format!("unit gate is no longer running (systemd: failed (failed)); {}", taken(decoy.control));
    assert_eq!(ended.refusal(), wanted);
    let (pid, address) = (unit.pid(), decoy.control);
    assert_eq!(
        ended.lines()[..2],
        [
            format!("unit gate is process {pid}"),
            format!(
                "unit gate runs; {address} answered SERVING; reading it again (process {pid} does not listen on port 7444 yet, while another program answers)"
            ),
        ]
    );
}

/// The decoy goes, the unit takes the port: the same words, now from the right process.
#[test]
fn a_unit_that_gets_its_port_in_the_end() {
    let ground = Ground::new();
    let address = SocketAddr::new(place(), 7444);
    let decoy = Unit::start([format!("listen {address} 200")]);
    let unit = Unit::start(["wait".to_owned(), format!("listen {address} 200")]);
    ground.says_running("gate", &unit.0);
    let wait = ground.wait(page("gate", address));
    told(&wait, "while another program answers");
    drop(decoy);
    told(&wait, "gave no answer (connect: connection refused)");
    unit.go_on();
    let ended = ended(&wait);
    let last = format!("unit gate serves; http://{address}/ answered HTTP 200 (process {})", unit.pid());
    assert_eq!(ended.served().last(), Some(&last));
}

/// What a decoy refuses is none of the unit's business: HTTP 4xx, a wrong token, a certificate of another authority.
#[test]
fn refusals_of_a_decoy_are_read_again() {
    let ground = Ground::new();
    let (deployment, decoy) = decoy();
    let page_decoy = SocketAddr::new(place(), 7444);
    let _page_decoy = Unit::start([format!("listen {page_decoy} 404")]);
    let unit = Unit::start(["wait", "exit 0"]);
    ground.says_running("gate", &unit.0);
    let stranger = deployment.probe.with_token(Token::random());
    let other = Deployment::mtls();
    let waits = [
        (ground.wait(page("gate", page_decoy)), "answered HTTP 404"),
        (
            ground.wait([unit_words("gate"), asking(&deployment, decoy.control, &stranger)].concat()),
            "answered UNAUTHENTICATED",
        ),
        (
            ground.wait([unit_words("gate"), asking(&other, decoy.control, &other.probe)].concat()),
            "gave no answer (tls: the server's certificate has a bad signature (another CA of the same name?))",
        ),
    ];
    for (wait, answer) in &waits {
        told(wait, answer);
        told(wait, "reading it again");
        told(wait, "while another program answers");
        assert!(wait.is_running());
    }
    unit.end();
    ground.says_failed("gate");
    for (wait, answer) in &waits {
        let refusal = ended(wait).refusal();
        assert!(refusal.contains(&format!("last {answer}")) && refusal.contains(", from another program"), "{refusal}");
    }
}
