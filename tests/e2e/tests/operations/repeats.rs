//! Repeated lines are held back, but no kind of fault hides another, and every count is told.

use credgate_support::{
    deployment::Deployment,
    pki::Token,
    process::Process,
    rawh2::{Connection, Request},
};

use crate::ground::{BOUND, registrar, said};

/// Each node has a record that is broken in a way of its own.
const PLUGIN: &str = "
class Plugin:
    def lookup(self, node_id):
        return {'1': '', '2': '   ', '3': 'tab\\t', '4': 'x' * 100}[node_id]

def create(config):
    return Plugin()
";

const ROUNDS: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_faults_of_one_outcome_are_all_told_and_counted() {
    let deployment = Deployment::mtls().with_python(PLUGIN);
    let gateway = deployment.start();
    let client = registrar(&deployment, &gateway).await;
    let nodes = ["1", "2", "3", "4"];
    for node in nodes.iter().cycle().take(nodes.len() * ROUNDS) {
        assert_eq!(client.lookup(node).await.unwrap_err(), "INTERNAL CORRUPT_RECORD");
    }
    let texts = ["the password is empty", "only spaces", "not printable ASCII", "longer than 79 bytes"];
    for text in texts {
        let mut counted = 0.0;
        // No further lookup comes: the rest is told all the same.
        while counted < ROUNDS as f64 {
            let mark = gateway.log.mark();
            counted = told(&gateway, text);
            if counted < ROUNDS as f64 {
                gateway.log.seen(mark, |line| line.says("lines held back"), BOUND).await;
            }
        }
        assert_eq!(counted, ROUNDS as f64, "{text}: {}", gateway.log.text());
    }
    let lines = said(&gateway, "lookup failed").len();
    assert!((4..=40).contains(&lines), "{lines} lines for {} failures", nodes.len() * ROUNDS);
}

/// Lines with this detail, and those that were held back of it.
fn told(process: &Process, text: &str) -> f64 {
    let lines = process.log.lines();
    let written = lines.iter().filter(|line| line.says("lookup failed") && has(line.field("detail"), text));
    let later = lines.iter().filter(|line| line.says("lines held back") && has(line.field("kind"), text));
    written.map(|line| 1.0 + line.number("more").unwrap()).sum::<f64>()
        + later.map(|line| line.number("more").unwrap()).sum::<f64>()
}

fn has(field: Option<&str>, text: &str) -> bool {
    field.is_some_and(|field| field.contains(text))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_guesses_tokens_does_not_hide_a_registrar_whose_token_is_wrong() {
    let deployment = Deployment::token_only();
    let gateway = deployment.start();
    for source in [[127, 0, 0, 9], [127, 0, 0, 8]] {
        let target = deployment.target(gateway.lookup, &deployment.registrar).from(source);
        let connection = Connection::open(&target).await.unwrap();
        for _ in 0..5 {
            let guess = Request::lookup("2000").token(&Token::random());
            assert_eq!(connection.send(guess, BOUND).await.ending(), "UNAUTHENTICATED");
        }
    }
    for source in ["127.0.0.9", "127.0.0.8"] {
        let from = |line: &credgate_support::process::Line| {
            line.says("authentication failed") && line.field("peer") == Some(source)
        };
        gateway.log.seen(0, from, BOUND).await;
    }
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let lines = gateway.log.lines();
    let counted: f64 = lines
        .iter()
        .filter(|line| line.says("authentication failed") || line.says("lines held back"))
        .map(|line| line.number("more").unwrap() + f64::from(u8::from(line.says("authentication failed"))))
        .sum();
    assert_eq!(counted, 10.0, "{}", gateway.log.text());
    assert!(lines.last().unwrap().says("stopped"), "{}", gateway.log.tail());
}
