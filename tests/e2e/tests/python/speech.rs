//! What a plugin says: its logger reaches our log, bounded and escaped; its prints are discarded and counted.

use credgate_support::{
    deployment::Deployment,
    process::{Gateway, Line},
};

use futures::future::join_all;

use crate::ground::{BOUND, becomes, ending, plugin, registrar, stopped};

const LOGGER: &str = "import logging\nlog = logging.getLogger('credgate.plugin')\n";

fn said(gateway: &Gateway, begin: &str) -> Line {
    gateway
        .log
        .wait_for(|line| line.says("plugin") && line.field("text").is_some_and(|text| text.starts_with(begin)), BOUND)
}

#[tokio::test]
async fn records_reach_the_log_with_their_level_bounded_and_escaped() {
    let lookup = "log.debug('first')\nlog.info('second %s', node_id)\nlog.warning('third\\n{\"level\":\"ERROR\"}\\x1b[31m')\n\
        log.error('fourth' + 'x' * 1_000_000)\nlogging.getLogger('credgate.plugin.store').critical('fifth \\udcff')\n\
        log.info('sixth %d', 'no number')\nlogging.getLogger('other').error('from another logger')\nreturn 'password'";
    for (level, debug) in [("debug", true), ("info", false)] {
        let deployment = Deployment::mtls().with_python(&plugin(LOGGER, lookup)).set("log.level", level);
        let gateway = deployment.start();
        assert_eq!(ending(&registrar(&deployment, &gateway).await, "2000").await, "OK");
        for (begin, level, logger) in [
            ("second 2000", "INFO", "credgate.plugin"),
            ("third\\n{\"level\":\"ERROR\"}\\u{1b}[31m", "WARN", "credgate.plugin"),
            ("fourthxxx", "ERROR", "credgate.plugin"),
            ("fifth \\udcff", "ERROR", "credgate.plugin.store"),
            ("a record whose text cannot be made (TypeError)", "INFO", "credgate.plugin"),
        ] {
            let line = said(&gateway, begin);
            assert_eq!((line.field("level"), line.field("logger")), (Some(level), Some(logger)), "{}", line.text);
            assert!(line.text.chars().count() < 1000, "{}", line.text.len());
        }
        let log = stopped(&gateway, 0).await;
        assert_eq!(log.contains("\"text\":\"first\""), debug, "{log}");
        assert!(!log.contains("from another logger"), "{log}");
    }
}

#[tokio::test]
async fn a_flood_of_records_holds_nobody_up_and_what_was_dropped_is_counted() {
    let lookup = "for number in range(5000): log.warning('flood')\nreturn 'password'";
    let deployment = Deployment::mtls().with_python(&plugin(LOGGER, lookup)).set("lookup.timeout", "30s");
    let gateway = deployment.start();
    assert_eq!(ending(&registrar(&deployment, &gateway).await, "2000").await, "OK");
    stopped(&gateway, 0).await;
    let lines = gateway.log.lines();
    let written = lines.iter().filter(|line| line.field("text") == Some("flood")).count();
    let dropped: f64 = lines.iter().filter_map(|line| line.number("dropped")).sum();
    assert_eq!(written as f64 + dropped, 5000.0);
}

#[tokio::test]
async fn prints_are_discarded_and_counted() {
    let lookup = "print('canary' * 1000)\nprint('canary', file=sys.stderr)\nsys.stdout.buffer.write(b'canary')\n\
        sys.__stderr__.write('canary')\nsys.stdout.writelines(['canary'])\nsys.stdout.flush()\n\
        threading.excepthook(threading.ExceptHookArgs((ValueError, ValueError('canary'), None, None)))\n\
        warnings.warn('canary')\nlogging.error('canary')\nreturn 'password'";
    let deployment = Deployment::mtls().with_python(&plugin("import logging, sys, threading, warnings", lookup));
    let gateway = deployment.start();
    assert_eq!(ending(&registrar(&deployment, &gateway).await, "2000").await, "OK");
    let log = stopped(&gateway, 0).await;
    assert!(!log.contains("canary") && !gateway.stdout.whole(BOUND).contains("canary"), "{log}");
    assert_eq!(log.matches("the plugin prints, which is discarded").count(), 1, "{log}");
    let line = gateway.log.wait_for(|line| line.says("what the plugin printed was discarded"), BOUND);
    assert!(line.number("characters").unwrap() > 6000.0, "{}", line.text);
}

#[tokio::test]
async fn many_threads_that_raise_and_log_at_once_hold_nobody_up() {
    let head = format!(
        "{LOGGER}import threading, time\nclass Sleeps(Exception):\n    def __str__(self): time.sleep(1e6)\n    \
         __repr__ = __str__\n"
    );
    let lookup = "threads = [threading.Thread(target=log.info, args=('%d', turn)) for turn in range(20)]\n\
        [thread.start() for thread in threads]\n\
        try:\n    raise Sleeps\nexcept Sleeps: log.exception('it sleeps')\n\
        [thread.join() for thread in threads]\nraise Sleeps";
    let deployment = Deployment::mtls().with_python(&plugin(&head, lookup)).set("lookup.timeout", "60s");
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    for ended in join_all((0..64).map(|_| ending(&client, "2000"))).await {
        assert_eq!(ended, "INTERNAL PROVIDER_DEFECT");
    }
    said(&gateway, "it sleeps (Sleeps)");
    becomes(&gateway, "credgate_slots_in_use", 0.0).await;
    stopped(&gateway, 0).await;
}
