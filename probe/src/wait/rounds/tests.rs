//! Verdicts over scripted facts: what no real process does at the right moment.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    net::SocketAddr,
    rc::Rc,
};

use super::*;
use crate::facts::{Holder, Socket};

/// What the host says, question by question; the last word stays.
#[derive(Clone)]
struct Script {
    mains: Rc<RefCell<VecDeque<Result<Main, Trouble>>>>,
    tables: Rc<RefCell<VecDeque<Table>>>,
    looks: Rc<Cell<usize>>,
}

impl Facts for Script {
    async fn main(&mut self, _fresh: bool) -> Result<Main, Trouble> {
        next(&self.mains)
    }

    async fn sockets(&mut self, _process: &Process, _connections: bool) -> Result<Table, Trouble> {
        self.looks.set(self.looks.get() + 1);
        Ok(next(&self.tables))
    }
}

fn next<T: Clone>(queue: &RefCell<VecDeque<T>>) -> T {
    let mut queue = queue.borrow_mut();
    if queue.len() > 1 { queue.pop_front().unwrap() } else { queue[0].clone() }
}

fn process(id: u32, start: &str) -> Process {
    Process { id, start: start.to_owned() }
}

fn runs(id: u32, start: &str) -> Result<Main, Trouble> {
    Ok(Main::Runs { process: process(id, start), unsettled: None })
}

fn table(sockets: &[(&str, Holder)]) -> Table {
    let socket = |(local, holder): &(&str, Holder)| Socket::listening(local.parse().unwrap(), *holder);
    Table { sockets: sockets.iter().map(socket).collect(), remarks: Vec::new() }
}

fn unit() -> Table {
    table(&[(ADDRESS, Holder::Unit)])
}

fn reading(meaning: Meaning) -> Reading {
    let address: SocketAddr = ADDRESS.parse().unwrap();
    let taken = (meaning != Meaning::Silence).then_some(address);
    Reading { meaning, words: format!("{meaning:?}"), addresses: vec![address], taken, line: None }
}

/// Runs a wait: how it ended, and what it told.
async fn wait(
    mains: impl IntoIterator<Item = Result<Main, Trouble>>,
    tables: impl IntoIterator<Item = Table>,
    readings: impl IntoIterator<Item = Meaning>,
) -> (Result<(), String>, Vec<String>) {
    let (ended, lines, _) = watched(mains, tables, readings).await;
    (ended, lines)
}

/// And how often it looked at the sockets. After [`PATIENCE`] the test gives it up, which is an end that no wait has by
/// itself.
async fn watched(
    mains: impl IntoIterator<Item = Result<Main, Trouble>>,
    tables: impl IntoIterator<Item = Table>,
    readings: impl IntoIterator<Item = Meaning>,
) -> (Result<(), String>, Vec<String>, usize) {
    let readings = RefCell::new(readings.into_iter().collect::<VecDeque<_>>());
    let lines = RefCell::new(Vec::new());
    let looks = Rc::new(Cell::new(0));
    let target = Target::Page(crate::target::Page {
        host: "127.0.0.1".into(),
        port: 7444,
        authority: ADDRESS.into(),
        path: "/".into(),
    });
    let wait = Wait {
        unit: "unit gate".into(),
        target: &target,
        facts: Script {
            mains: Rc::new(RefCell::new(mains.into_iter().collect())),
            tables: Rc::new(RefCell::new(tables.into_iter().collect())),
            looks: Rc::clone(&looks),
        },
        read: async || reading(next(&readings)),
        tell: |line| lines.borrow_mut().push(line),
        interval: Duration::from_secs(1),
        memory: Memory::default(),
    };
    let ended = tokio::time::timeout(PATIENCE, wait.until_served()).await;
    let ended = ended.unwrap_or_else(|_| Err("still waiting".to_owned()));
    (ended, lines.into_inner(), looks.get())
}

const ADDRESS: &str = "127.0.0.1:7444";

/// Of the paused clock.
const PATIENCE: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn an_answer_counts_when_process_and_socket_are_the_same_before_and_after() {
    use Holder::{Other, Unit};
    let other = || table(&[(ADDRESS, Other)]);
    let both = || table(&[(ADDRESS, Other), (ADDRESS, Unit)]);
    let nobody = || table(&[]);
    for (what, mains, tables, serves) in [
        ("all is well", vec![runs(1, "a")], vec![unit()], true),
        ("the socket changed hands during the read", vec![runs(1, "a")], vec![unit(), other(), other()], false),
        ("it came during the read", vec![runs(1, "a")], vec![nobody(), unit(), nobody()], false),
        ("another program joined during the read", vec![runs(1, "a")], vec![unit(), both(), both()], false),
        ("it left during the read", vec![runs(1, "a")], vec![unit(), nobody(), nobody()], false),
        (
            "the process is another one",
            vec![runs(1, "a"), runs(2, "b"), runs(3, "c"), runs(4, "d"), runs(5, "e")],
            vec![unit()],
            true,
        ),
    ] {
        let (ended, lines) = wait(mains, tables, [Meaning::Serving]).await;
        assert_eq!(ended.is_ok(), serves, "{what}: {ended:?} {lines:?}");
    }
    // The same number, another process: each look finds a new one, and none is believed.
    let restless: Vec<_> = (0..30_000).map(|start| runs(1, &start.to_string())).collect();
    let (ended, lines) = wait(restless, [unit()], [Meaning::Serving]).await;
    assert_eq!(ended.unwrap_err(), "still waiting");
    assert!(lines.iter().any(|line| line.ends_with("(the unit changed meanwhile)")), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_needs_the_same_proof() {
    let other = table(&[(ADDRESS, Holder::Other)]);
    for (tables, wanted) in [
        (
            vec![unit()],
            "http://127.0.0.1:7444/ Refusal while unit gate runs; the service refuses the request, so the wait does not go on",
        ),
        (vec![other.clone()], "still waiting"),
        (vec![unit(), other.clone(), other], "still waiting"),
    ] {
        let (ended, _) = wait([runs(1, "a")], tables, [Meaning::Refusal]).await;
        assert_eq!(ended.unwrap_err(), wanted);
    }
}

/// Between two of its listeners a process that starts listens elsewhere only, for a moment.
#[tokio::test(start_paused = true)]
async fn elsewhere_is_believed_at_the_second_sight() {
    let metrics = || table(&[("127.0.0.1:9464", Holder::Unit)]);
    let (ended, _) = wait([runs(1, "a")], [metrics()], [Meaning::Silence]).await;
    assert!(ended.unwrap_err().starts_with("unit gate listens on TCP [9464], not on port 7444 of "));
    let (ended, lines) = wait([runs(1, "a")], [metrics(), unit()], [Meaning::Silence, Meaning::Serving]).await;
    assert_eq!(ended, Ok(()), "{lines:?}");
    // Another process in the same state is another matter.
    let mains = [runs(1, "a"), runs(2, "b"), runs(2, "b")];
    let (ended, lines) =
        wait(mains, [metrics(), metrics(), unit()], [Meaning::Silence, Meaning::Silence, Meaning::Serving]).await;
    assert_eq!(ended, Ok(()), "{lines:?}");
    assert!(lines.contains(&"unit gate restarted: process 1 is now 2".to_owned()), "{lines:?}");
}

/// At rest the sockets are left alone for some seconds, but not for ever, and not when anything else is new.
#[tokio::test(start_paused = true)]
async fn what_changes_after_a_long_rest() {
    let quiet = || vec![Meaning::Silence; 60];
    let tables = || vec![table(&[]); 20];
    let later = |last| [quiet(), vec![last]].concat();
    let (ended, lines) = wait([runs(1, "a")], [tables(), vec![unit()]].concat(), later(Meaning::Serving)).await;
    assert_eq!(ended, Ok(()), "{lines:?}");
    let elsewhere = table(&[("127.0.0.1:9464", Holder::Unit)]);
    let (ended, lines) = wait([runs(1, "a")], [tables(), vec![elsewhere]].concat(), quiet()).await;
    assert!(ended.unwrap_err().starts_with("unit gate listens on TCP [9464]"), "{lines:?}");
    let mains = [vec![runs(1, "a"); 60], vec![Ok(Main::Gone("word".into()))]].concat();
    let (ended, lines) = wait(mains, tables(), quiet()).await;
    assert!(ended.unwrap_err().starts_with("unit gate is no longer running"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn facts_that_cannot_be_had() {
    let failed = || Err(Trouble::Failed("systemctl failed".into()));
    let refused = || Err(Trouble::Refused("needs root".into()));
    let (ended, _) = wait([failed()], [unit()], [Meaning::Serving]).await;
    assert_eq!(ended.unwrap_err(), "unit gate: systemctl failed", "at first: it will not get better");
    let (ended, lines) =
        wait([runs(1, "a"), failed(), runs(1, "a")], [unit()], [Meaning::NotYet, Meaning::NotYet, Meaning::Serving])
            .await;
    assert_eq!(ended, Ok(()), "later: it may, {lines:?}");
    let (ended, _) = wait([refused(), runs(1, "a")], [unit()], [Meaning::NotYet, Meaning::Serving]).await;
    assert_eq!(ended, Ok(()), "once: a process that has just been started may still be root's");
    let (ended, _) = wait([refused()], [unit()], [Meaning::Serving]).await;
    assert_eq!(ended.unwrap_err(), "unit gate: needs root");
}

#[tokio::test(start_paused = true)]
async fn nothing_but_facts_ends_a_wait() {
    let (ended, lines, looks) = watched([runs(1, "a")], [unit()], [Meaning::NotYet]).await;
    assert_eq!(ended.unwrap_err(), "still waiting", "after {PATIENCE:?}");
    assert_eq!(lines.len(), 2, "the process, and one answer: {lines:?}");
    // Every few seconds, and while the pauses grow.
    assert!((100..220).contains(&looks), "{looks} looks in {PATIENCE:?}");
    let gone = || Ok(Main::Gone("word".into()));
    let (ended, _) = wait([runs(1, "a"), gone()], [unit()], [Meaning::NotYet, Meaning::Silence]).await;
    assert_eq!(ended.unwrap_err(), "unit gate is no longer running (word); http://127.0.0.1:7444/ last NotYet");
    let (ended, _) = wait([gone()], [unit()], [Meaning::NotYet]).await;
    let text = ended.unwrap_err();
    assert!(text.starts_with("unit gate is not running (word); ") && text.contains("from another program"), "{text}");
    let coming = || Ok(Main::Coming("systemd: activating (start-pre)".into()));
    let (ended, _) = wait([coming(), coming(), runs(1, "a")], [unit()], [Meaning::Serving]).await;
    assert_eq!(ended, Ok(()));
}
