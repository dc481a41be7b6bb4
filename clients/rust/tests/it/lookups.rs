//! The contract's endings, one enum; and many calls on one connection.

use std::time::{Duration, Instant};

use credgate_client::{Client, Endpoint, LookupError, Reason, Settings};
use tokio::task::JoinSet;
use tonic::{Code, Status};

use crate::{
    gateway::Gateway,
    pki::Pki,
    script::{Script, refusal, refusal_for},
};

const LONG: Duration = Duration::from_secs(30);

async fn answer(node: String) -> Result<String, Status> {
    let refused = match node.as_str() {
        "unknown" => refusal(Code::NotFound, "NODE_NOT_FOUND"),
        "elsewhere" => Status::not_found("another service's word"),
        "forged" => refusal(Code::NotFound, "node not\nfound"),
        "backend" => refusal(Code::Unavailable, "BACKEND_TIMEOUT"),
        "rate" => refusal_for(Code::ResourceExhausted, "RATE_LIMITED", Duration::from_millis(250)),
        "role" => Status::permission_denied("no"),
        "bad id" => refusal(Code::InvalidArgument, "INVALID_NODE_ID"),
        "corrupt" => refusal(Code::Internal, "CORRUPT_RECORD"),
        "method" => Status::unimplemented("no"),
        "empty" => return Ok(String::new()),
        "huge" => return Ok("x".repeat(100_000)),
        "never" => std::future::pending().await,
        _ => return Ok(format!("secret-{node}")),
    };
    Err(refused)
}

async fn client(pki: &Pki, settings: impl FnOnce(Settings) -> Settings) -> (Gateway, Client) {
    let service = Script::new(|node, _| answer(node));
    let gateway = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), service).await;
    let endpoint = Endpoint::prepare(&settings(pki.settings(gateway.address))).unwrap();
    (gateway, Client::new(endpoint))
}

#[tokio::test]
async fn each_ending_has_its_variant() {
    let pki = Pki::new();
    let (gateway, client) = client(&pki, |settings| settings).await;
    let password = client.lookup("0200", LONG).await.unwrap();
    assert_eq!((password.expose(), format!("{password:?}").as_str()), ("secret-0200", "Password"));

    let has = |reason: &Reason, word: &str| reason.as_str() == Some(word);
    assert!(matches!(client.lookup("unknown", LONG).await, Err(LookupError::NotFound)));
    assert!(matches!(client.lookup("elsewhere", LONG).await, Err(LookupError::Unexpected(Code::NotFound))));
    assert!(matches!(client.lookup("forged", LONG).await, Err(LookupError::Unexpected(Code::NotFound))));
    assert!(
        matches!(client.lookup("backend", LONG).await, Err(LookupError::Unavailable { reason }) if has(&reason, "BACKEND_TIMEOUT"))
    );
    assert!(matches!(client.lookup("rate", LONG).await, Err(LookupError::Exhausted { reason, retry_after })
        if has(&reason, "RATE_LIMITED") && retry_after == Some(Duration::from_millis(250))));
    assert!(matches!(client.lookup("role", LONG).await, Err(LookupError::Permission)));
    assert!(
        matches!(client.lookup("bad id", LONG).await, Err(LookupError::InvalidRequest { reason }) if has(&reason, "INVALID_NODE_ID"))
    );
    assert!(
        matches!(client.lookup("corrupt", LONG).await, Err(LookupError::Internal { reason }) if has(&reason, "CORRUPT_RECORD"))
    );
    assert!(
        matches!(client.lookup("empty", LONG).await, Err(LookupError::Internal { reason }) if has(&reason, "EMPTY_ANSWER"))
    );
    assert!(matches!(client.lookup("method", LONG).await, Err(LookupError::Unexpected(Code::Unimplemented))));
    assert!(matches!(client.lookup("huge", LONG).await, Err(LookupError::Unexpected(Code::OutOfRange))));
    assert_eq!(gateway.accepted(), 1);
}

#[tokio::test]
async fn a_wrong_token_is_an_authentication_error() {
    let pki = Pki::new();
    let (_gateway, client) =
        client(&pki, |settings| Settings { token_file: pki.file("wrong-token"), ..settings }).await;
    assert!(matches!(client.lookup("0200", LONG).await, Err(LookupError::Authentication)));
    assert!(!format!("{client:?}").contains("canary"));
}

#[tokio::test]
async fn the_local_bound_ends_a_call_without_answer() {
    let pki = Pki::new();
    let (_gateway, client) = client(&pki, |settings| settings).await;
    client.lookup("0200", LONG).await.unwrap();
    let begun = Instant::now();
    assert!(matches!(client.lookup("never", Duration::from_millis(200)).await, Err(LookupError::TimedOut)));
    assert!((200..2_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert!(client.lookup("0200", Duration::MAX).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_at_once_share_one_connection() {
    let pki = Pki::new();
    let (gateway, client) = client(&pki, |settings| settings).await;
    let mut calls = JoinSet::new();
    for node in 0..10_000 {
        let client = client.clone();
        calls.spawn(async move {
            let node = node.to_string();
            let password = client.lookup(&node, LONG * 2).await.unwrap();
            assert_eq!(password.expose(), format!("secret-{node}"));
        });
    }
    assert_eq!(calls.join_all().await.len(), 10_000);
    assert_eq!(gateway.accepted(), 1);
}
