//! Ends: signals a plugin or its libraries reach for, calls in flight, `close()`, and what nobody can survive.

use credgate_support::{
    deployment::Deployment,
    process::{Gateway, Signal},
};
use futures::future::join_all;

use crate::ground::{BOUND, ending, plugin, registrar, stopped};

/// What a library in C does without asking Python.
const IGNORE: &str = "import ctypes, signal\n\
    def ignore():\n    for number in (signal.SIGTERM, signal.SIGINT):\n        \
    ctypes.CDLL(None).signal(int(number), ctypes.c_void_p(1))\n";

/// What a library does that copes with being refused.
const TRY: &str = "import asyncio, signal, subprocess\n\
    try:\n    signal.signal(signal.SIGTERM, lambda *_: None)\n\
    except ValueError:\n    refused = True\n";

async fn drains_on(gateway: &Gateway, signal: Signal) {
    gateway.signal(signal);
    assert_eq!(gateway.ended(BOUND).await.code, Some(0), "{}", gateway.log.tail());
    gateway.log.wait_for(|line| line.says("stopped"), BOUND);
}

#[tokio::test]
async fn handlers_installed_at_import_are_undone() {
    for head in [format!("{IGNORE}ignore()\n"), TRY.to_owned()] {
        for signal in [Signal::TERM, Signal::INT] {
            let deployment = Deployment::mtls().with_python(&plugin(&head, "return 'password'"));
            let gateway = deployment.start();
            assert_eq!(gateway.log.text().contains("it is ours again"), head.contains("ctypes"));
            drains_on(&gateway, signal).await;
        }
    }
}

#[tokio::test]
async fn handlers_installed_later_are_undone_by_the_next_check() {
    for signal in [Signal::TERM, Signal::INT] {
        let deployment = Deployment::mtls()
            .with_python(&plugin(IGNORE, "ignore()\nreturn 'password'"))
            .merge("[health]\ninterval = '100ms'\nmax_age = '10s'");
        let gateway = deployment.start();
        let client = registrar(&deployment, &gateway).await;
        assert_eq!(ending(&client, "2000").await, "OK");
        let ours = |line: &credgate_support::process::Line| {
            line.says("the plugin or a library of it had taken this signal; it is ours again")
        };
        gateway.log.seen(0, |line| ours(line) && line.field("signal") == Some("SIGTERM"), BOUND).await;
        gateway.log.seen(0, |line| ours(line) && line.field("signal") == Some("SIGINT"), BOUND).await;
        drains_on(&gateway, signal).await;
    }
}

#[tokio::test]
async fn calls_in_flight_are_finished_and_the_exit_code_is_always_the_same() {
    let slow = "import time\n";
    for round in 0..12 {
        let deployment = Deployment::mtls().with_python(&plugin(slow, "time.sleep(0.2)\nreturn 'password'"));
        let gateway = deployment.start();
        let client = registrar(&deployment, &gateway).await;
        let calls = join_all((0..8).map(|_| ending(&client, "2000")));
        let (endings, exit) = tokio::join!(calls, async {
            crate::ground::becomes(&gateway, "credgate_slots_in_use", 8.0).await;
            gateway.terminate();
            gateway.ended(BOUND).await
        });
        assert_eq!((exit.code, exit.signal), (Some(0), None), "round {round}: {}", gateway.log.tail());
        assert!(endings.iter().all(|ended| ended == "OK"), "round {round}: {endings:?}");
    }
}

#[tokio::test]
async fn close_runs_and_may_fail_or_hang() {
    let with_close = |is_async: &str, close: &str| {
        let head = "import logging, time\nlog = logging.getLogger('credgate.plugin')\n";
        let text = plugin(head, "return 'password'");
        let (before, after) = text.split_once("\ndef create").unwrap();
        format!("{before}\n    {is_async}def close(self):\n        {close}\n\ndef create{after}")
    };
    for (is_async, close, code, said) in [
        ("", "log.info('closed')", 0, "closed"),
        ("async ", "log.info('closed')", 0, "closed"),
        ("", "raise KeyError('secret-canary')", 0, "KeyError at"),
        ("", "raise SystemExit", 0, "SystemExit at"),
        ("", "time.sleep(1e6)", 75, "stopped with work unfinished"),
        ("async ", "time.sleep(1e6)", 75, "stopped with work unfinished"),
    ] {
        let deployment =
            Deployment::mtls().with_python(&with_close(is_async, close)).merge("[shutdown]\nclose_timeout = '1s'");
        let gateway = deployment.start();
        let log = stopped(&gateway, code).await;
        assert!(log.contains(said) && !log.contains("secret-canary"), "{is_async}{close}: {log}");
    }
}

#[tokio::test]
async fn ending_the_process_from_a_plugin_cannot_be_survived() {
    let deployment = Deployment::mtls().with_behaviours(false);
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    assert_ne!(ending(&client, "ends_process").await, "OK");
    assert_eq!(gateway.ended(BOUND).await.code, Some(3));
}
