//! `deploy/systemd/credgate.service` says what the executable does.

use std::{collections::BTreeMap, time::Duration};

use credgate_support::{
    deployment::Deployment,
    process::{Process, executable},
};

use crate::ground::BOUND;

const UNIT: &str = include_str!("../../../../deploy/systemd/credgate.service");

/// Every value of each key of `[Service]`.
fn service() -> BTreeMap<&'static str, Vec<&'static str>> {
    let (_, section) = UNIT.split_once("\n[Service]\n").unwrap();
    let mut keys = BTreeMap::<_, Vec<_>>::new();
    for line in section.lines().take_while(|line| !line.starts_with('[')) {
        if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            keys.entry(key).or_default().push(value);
        }
    }
    keys
}

fn one(key: &str) -> &'static str {
    let values = service().remove(key).unwrap_or_default();
    assert_eq!(values.len(), 1, "{key}: {values:?}");
    values[0]
}

fn seconds(text: &str) -> Duration {
    let number = text.strip_suffix('s').and_then(|number| number.parse().ok());
    Duration::from_secs(number.unwrap_or_else(|| panic!("{text} is no number of seconds")))
}

#[test]
fn it_allows_the_default_budget_and_more() {
    let gateway = Deployment::mtls().start();
    let ready = gateway.log.wait_for(|line| line.says("ready"), BOUND);
    let budget = seconds(ready.field("stops_within").unwrap());
    let allowed = seconds(one("TimeoutStopSec"));
    assert!(allowed > budget + Duration::from_secs(1), "{allowed:?} for {budget:?}");
}

#[test]
fn its_command_exists() {
    let mut words = one("ExecStart").split_whitespace();
    assert_eq!(words.next(), Some("/usr/bin/credgate"));
    let subcommand = words.next().unwrap();
    let mut command = executable("credgate");
    command.args([subcommand, "--help"]);
    let help = Process::run(command, BOUND);
    assert_eq!(help.exit.code, Some(0), "{}", help.stderr);
    for option in words.filter(|word| word.starts_with("--")) {
        assert!(help.stdout.contains(&format!("{option} <")), "{option}: {}", help.stdout);
    }
}

#[test]
fn it_takes_notifications_and_restarts_what_a_restart_can_heal() {
    assert_eq!(one("Type"), "notify");
    assert_eq!(one("Restart"), "on-failure");
    // 78: the configuration stays wrong.
    assert_eq!(one("RestartPreventExitStatus"), "78");
    // H13: no tight loop while the store is not there.
    assert!(seconds(one("RestartSec")) >= Duration::from_secs(1));
    assert!(seconds(one("RestartMaxDelaySec")) >= Duration::from_secs(30));
    // Longer than provider.open_timeout (30 s), or a slow start is killed before it can say why.
    assert!(seconds(one("TimeoutStartSec")) > Duration::from_secs(30));
    // Longer than a heartbeat may be missing (10 s) or the watchdog bites before liveness does.
    assert!(seconds(one("WatchdogSec")) > Duration::from_secs(10));
}

#[test]
fn it_leaves_no_memory_behind_and_grants_little() {
    for (key, value) in [
        ("LimitCORE", "0"),
        ("DynamicUser", "yes"),
        ("ProtectSystem", "strict"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("StateDirectory", "credgate"),
        ("UMask", "0077"),
    ] {
        assert_eq!(one(key), value, "{key}");
    }
    assert!(one("LoadCredential").contains("server.key"));
}
