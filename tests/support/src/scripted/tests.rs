//! The scripted provider through the contract alone, told what to do over its line.

use std::{
    net::SocketAddr,
    panic::AssertUnwindSafe,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_provider::{
    Deadline, Kind, NodeId, NodeIdRule, OpenError, PasswordRule, Prepared, Provider, ProviderError, Report, Site, Slot,
    settings::Document,
};
use futures::FutureExt;

use super::*;

const BOUND: Duration = Duration::from_secs(10);

fn prepare(text: &str) -> Result<Box<dyn Prepared>, String> {
    let site = Site {
        base: ".".into(),
        node_ids: NodeIdRule::default(),
        passwords: PasswordRule::default(),
        lookup_timeout: Duration::from_secs(2),
        lookup_slots: None,
    };
    let report = Report::default();
    let document = Document::parse(Path::new("c.toml"), text, &report);
    let prepared = ScriptedKind.prepare(&document.root(&report), &site, &report);
    if report.is_clean() { Ok(prepared.unwrap()) } else { Err(format!("{:?}", report.problems())) }
}

/// The control address is free for a moment between the two binds; each test has a loopback address to itself.
async fn open(text: &str) -> (Arc<dyn Provider>, Script) {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let ip = [127, 0, 9, NUMBER.fetch_add(1, Ordering::SeqCst)];
    let address = std::net::TcpListener::bind(SocketAddr::from((ip, 0))).unwrap().local_addr().unwrap();
    let prepared = prepare(&format!("control = \"{address}\"\n{text}")).unwrap();
    let provider = prepared.open(Deadline::after(BOUND)).await.map_err(|error| error.to_string()).unwrap();
    (provider.into(), Script::at(address))
}

/// Slots that are out.
#[derive(Clone, Default)]
struct Slots(Arc<AtomicUsize>);

struct Out(Arc<AtomicUsize>);

impl Slots {
    fn take(&self) -> Slot {
        self.0.fetch_add(1, Ordering::SeqCst);
        Slot::new(Out(Arc::clone(&self.0)))
    }

    fn out(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn node(text: &str) -> NodeId {
    NodeIdRule::default().parse(text).unwrap()
}

async fn ask(provider: &Arc<dyn Provider>, slots: &Slots, text: &str, bound: Duration) -> String {
    let node = node(text);
    match provider.lookup(&node, Deadline::after(bound), slots.take()).await {
        Ok(Some(password)) => password.expose().to_owned(),
        Ok(None) => "none".into(),
        Err(ProviderError::Unavailable(_)) => "unavailable".into(),
        Err(ProviderError::TimedOut(_)) => "timed out".into(),
        Err(ProviderError::Corrupt(_)) => "corrupt".into(),
        Err(ProviderError::Defect(_)) => "defect".into(),
    }
}

#[tokio::test]
async fn every_answer_can_be_ordered() {
    let (provider, script) = open("nodes = { 2000 = \"known\" }").await;
    let slots = Slots::default();
    assert_eq!(ask(&provider, &slots, "2000", BOUND).await, "known");
    assert_eq!(ask(&provider, &slots, "2001", BOUND).await, "none");
    for (behaviour, wanted) in [
        (Behaviour::password("pass word"), "pass word"),
        (Behaviour::password(""), "corrupt"),
        (Behaviour::Bytes { bytes: vec![0xff] }, "corrupt"),
        (Behaviour::Unavailable, "unavailable"),
        (Behaviour::TimedOut, "timed out"),
        (Behaviour::Corrupt, "corrupt"),
        (Behaviour::Defect, "defect"),
        (Behaviour::password("later").delayed(5), "later"),
        (Behaviour::None.burned(5).worked(5), "none"),
        (Behaviour::Panic.worked(1), "defect"),
    ] {
        script.default(behaviour.clone()).await;
        assert_eq!(ask(&provider, &slots, "2001", BOUND).await, wanted, "{behaviour:?}");
    }
    script.default(Behaviour::Panic).await;
    assert!(AssertUnwindSafe(ask(&provider, &slots, "2001", BOUND)).catch_unwind().await.is_err());
    script.node("2000", Behaviour::password("other")).await;
    assert_eq!(ask(&provider, &slots, "2000", BOUND).await, "other");
    let counts = script.wait_for(|counts| counts.running == 0, BOUND).await;
    assert_eq!((counts.started, counts.most, counts.by_node["2000"], slots.out()), (14, 1, 2, 0));
}

#[tokio::test]
async fn the_slot_follows_the_work() {
    let (provider, script) = open("").await;
    let slots = Slots::default();
    let cut = async |behaviour: Behaviour| {
        script.default(behaviour).await;
        let call = ask(&provider, &slots, "1", Duration::from_millis(20));
        tokio::time::timeout(Duration::from_millis(60), call).await.ok()
    };
    assert_eq!(cut(Behaviour::None.delayed(60_000)).await.as_deref(), Some("timed out"));
    assert_eq!(cut(Behaviour::Hang).await, None);
    assert_eq!((slots.out(), script.counts().await.running), (0, 0));
    assert_eq!(cut(Behaviour::Hold).await, None);
    assert_eq!(cut(Behaviour::Hold).await, None);
    let counts = script.wait_for(|counts| counts.held == 2, BOUND).await;
    assert_eq!((slots.out(), counts.running, counts.most), (2, 2, 2));
    script.release(1).await;
    script.wait_for(|counts| counts.running == 1, BOUND).await;
    script.release_all().await;
    script.wait_for(|counts| counts.running == 0 && counts.held == 0, BOUND).await;
    assert_eq!(cut(Behaviour::None.worked(700)).await, None);
    assert_eq!(script.counts().await.running, 1);
    script.wait_for(|counts| counts.running == 0, BOUND).await;
}

#[tokio::test]
async fn checks_and_closing_can_be_ordered() {
    let (provider, script) = open("script = ['{\"op\":\"check\",\"behaviour\":{\"do\":\"fail\"}}']").await;
    let check = async || provider.check(Deadline::after(Duration::from_millis(30))).await;
    assert!(matches!(check().await, Err(ProviderError::Unavailable(_))));
    script.check(CheckBehaviour::Ok).await;
    assert!(check().await.is_ok());
    script.check(CheckBehaviour::Delay { ms: 60_000 }).await;
    assert!(matches!(check().await, Err(ProviderError::TimedOut(_))));
    script.check(CheckBehaviour::Hang).await;
    assert!(tokio::time::timeout(Duration::from_millis(60), check()).await.is_err());
    script.check(CheckBehaviour::Panic).await;
    assert!(AssertUnwindSafe(check()).catch_unwind().await.is_err());
    script.close(CloseBehaviour::Hang).await;
    assert!(tokio::time::timeout(Duration::from_millis(30), provider.close()).await.is_err());
    let counts = script.counts().await;
    assert_eq!((counts.checks, counts.closing), (5, true));
}

#[tokio::test]
async fn opening_can_be_ordered() {
    let open = async |text: &str| prepare(text).unwrap().open(Deadline::after(BOUND)).await.err();
    assert!(matches!(open("open = \"unavailable\"").await, Some(OpenError::Unavailable(_))));
    assert!(matches!(open("open = \"configuration\"").await, Some(OpenError::Configuration(_))));
    assert!(tokio::time::timeout(Duration::from_millis(20), open("open = \"hang\"")).await.is_err());
    assert!(tokio::time::timeout(Duration::from_millis(20), open("open_delay = \"1h\"")).await.is_err());
    let problems = prepare("script = [\"{}\"]\nnodes = { 1 = 2 }").err().unwrap();
    assert!(problems.contains("missing field") && problems.contains("expected text"), "{problems}");
}
