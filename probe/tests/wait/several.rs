//! Several targets: read at once, and the first refusal in the given order is the one reported, after all have ended.

use std::net::SocketAddr;

use crate::ground::{BOUND, Ground, Unit, ended, page, place, told};

fn address() -> SocketAddr {
    SocketAddr::new(place(), 7444)
}

/// The second refuses at once, the first only later: the first is reported.
#[test]
fn the_first_in_the_given_order_is_reported_after_all_have_ended() {
    let ground = Ground::new();
    let (first, second, third) = (address(), address(), address());
    let one = Unit::start([format!("listen {first} 503"), "wait".to_owned(), "exit 1".to_owned()]);
    let two = Unit::start([format!("listen {second} 404")]);
    let three = Unit::start([format!("listen {third} 200")]);
    for (name, unit) in [("one", &one), ("two", &two), ("three", &three)] {
        ground.says_running(name, &unit.0);
    }
    let wait = ground.wait([page("one", first), page("two", second), page("three", third)].concat());
    told(&wait, "unit one runs");
    told(&wait, &format!("http://{second}/ answered HTTP 404 while unit two runs"));
    told(&wait, "unit three serves");
    assert!(wait.is_running(), "the first has not ended");
    one.end();
    ground.says_failed("one");
    let refusal = ended(&wait).refusal();
    let wanted =
        format!("unit one is no longer running (systemd: failed (failed)); http://{first}/ last answered HTTP 503");
    assert_eq!(refusal, wanted);
}

#[test]
fn all_that_serve_are_a_success_in_any_mixture() {
    let ground = Ground::new();
    let (first, second, third) = (address(), address(), address());
    let units = [first, second, third].map(|address| Unit::start([format!("listen {address} 200")]));
    ground.says_running("one", &units[0].0);
    let file = ground.file("pid", units[1].pid().to_string());
    let mut words =
        vec!["--addr".to_owned(), format!("http://{second}/"), "--pid-file".into(), file.display().to_string()];
    words.extend(page("one", first));
    words.extend(["--pid".into(), units[2].pid().to_string(), "--addr".into(), format!("http://{third}/")]);
    let lines = ended(&ground.wait(words)).served();
    for (unit, address) in [
        (format!("the process of {}", file.display()), second),
        ("unit one".into(), first),
        (format!("process {}", units[2].pid()), third),
    ] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("{unit} serves; http://{address}/"))), "{lines:?}");
    }
}

/// Two gateways with a token and an authority each.
#[test]
fn two_gateways_that_are_asked_by_different_identities() {
    use credgate_support::deployment::Deployment;
    let ground = Ground::new();
    let deployments = [Deployment::mtls(), Deployment::mtls()];
    let gateways = [deployments[0].start(), deployments[1].start()];
    let mut words = Vec::new();
    for (deployment, gateway) in deployments.iter().zip(&gateways) {
        words.extend(["--pid".to_owned(), gateway.pid().to_string()]);
        words.extend(deployment.client_arguments(gateway.control, &deployment.probe));
    }
    let served = ended(&ground.wait(words)).served();
    assert_eq!(served.len(), 2, "{served:?}");
    for gateway in &gateways {
        gateway.terminate();
        gateway.wait(BOUND);
    }
}
