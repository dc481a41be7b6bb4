//! The settings that may be shown: at start those that somebody chose, in `check-config` all of them; never a secret or a name.

use credgate_support::{deployment::Deployment, process::Process};

use crate::ground::{BOUND, with_sqlite};

fn deployment() -> Deployment {
    Deployment::mtls()
        .set("lookup.timeout", "1s500ms")
        .set("log.format", "json")
        .set("rate.source.per_second", 70)
        .set("shutdown.drain_timeout", "5s")
}

#[test]
fn the_start_shows_what_was_chosen() {
    let gateway = deployment().start();
    let line = gateway.log.wait_for(|line| line.says("settings"), BOUND);
    let changed: Vec<_> = line.field("changed").unwrap().split(", ").collect();
    for setting in
        ["lookup.timeout = 1s 500ms", "log.format = json", "rate.source.per_second = 70", "provider.kind = csv"]
    {
        assert!(changed.contains(&setting), "{setting}: {changed:?}");
    }
    // What is set to its default is not changed.
    assert!(!changed.iter().any(|setting| setting.contains("drain_timeout")), "{changed:?}");
    assert_eq!(line.field("version"), Some(env!("CARGO_PKG_VERSION")));
}

#[test]
fn check_config_shows_all_of_them_and_marks_those() {
    let deployment = with_sqlite(deployment());
    let done = Process::run(deployment.command(["check-config"]), BOUND);
    assert_eq!(done.exit.code, Some(0), "{}", done.stderr);
    for line in [
        "  lookup.timeout = 1s 500ms   (default 2s)\n",
        "  lookup.queue = 1024\n",
        "  lookup.slots = 16\n",
        "  provider.sql.max_connections = 16\n",
        "  shutdown.drain_timeout = 5s\n",
    ] {
        assert!(done.stdout.contains(line), "{line}: {}", done.stdout);
    }
    for text in ["nodes.db", "server.pem", "server.key", "registrar-east", "token_sha256"] {
        assert!(
            !done.stdout.contains(text) || done.stdout.contains(&format!("{text}: good")),
            "{text}: {}",
            done.stdout
        );
    }
}
