//! No password, row or statement reaches the log, at any level and from any crate. A process of its own: it takes all logs.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "sqlite/support.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use the rest")]
mod support;

use std::{
    io,
    sync::{Arc, Mutex},
};

use credgate_provider::{NodeIdRule, PasswordRule};
use credgate_sql::{ImportMode, NodeRow, import};
use credgate_support::provider::{check, get};
use support::{QUERY, Store, TABLE};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_canary_in_the_log() {
    let log = Log::default();
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).init();
    tracing::info!("the log is taken");

    let store = Store::migrated().await;
    let row = NodeRow {
        line: 2,
        node_id: NodeIdRule::default().parse("4242").unwrap(),
        password: PasswordRule::default().parse(b"canary").ok(),
        enabled: true,
    };
    import(&store.database(), &[row], ImportMode::Update, &mut |_| {}).await.unwrap();
    let provider = store.open("").await;
    assert_eq!(get(&*provider, "4242").await, "canary");
    check(&*provider).await.unwrap();
    provider.close().await;

    let store = Store::with(&format!("{TABLE}; INSERT INTO nodes VALUES ('4242', 'canary' || char(10), 1)"));
    let provider = store.open(QUERY).await;
    let text = get(&*provider, "4242").await;
    assert!(text.starts_with("corrupt record") && !text.contains("canary"), "{text}");
    store.sql("DROP TABLE nodes");
    get(&*provider, "4242").await;
    check(&*provider).await.unwrap_err();

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is taken"));
    assert!(!log.contains("canary") && !log.contains("4242") && !log.contains("SELECT"), "{log}");
}
