//! What a gateway's restart, drain or end does to a client that stays.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use credgate_client::{Cause, Client, Endpoint, LookupError, Step};
use tokio::{sync::Notify, task::JoinSet};
use tonic::Code;

use crate::{
    gateway::Gateway,
    peers::{self, Peer},
    pki::Pki,
    script::{Script, refusal},
};

const LONG: Duration = Duration::from_secs(30);

async fn echo(pki: &Pki, address: &str) -> Gateway {
    let service = Script::new(|node, _| async { Ok(node) });
    Gateway::start(address, Some(pki.server("server", true)), service).await
}

fn client(pki: &Pki, address: impl ToString) -> Client {
    Client::new(Endpoint::prepare(&pki.settings(address)).unwrap())
}

#[tokio::test]
async fn a_restart_between_two_lookups_is_not_seen() {
    let pki = Pki::new();
    let first = echo(&pki, "127.0.0.1:0").await;
    let address = first.address.to_string();
    let client = client(&pki, &address);
    client.lookup("1", LONG).await.unwrap();
    first.stop().await;
    let second = echo(&pki, &address).await;
    for _ in 0..3 {
        client.lookup("2", LONG).await.unwrap();
    }
    assert_eq!(second.accepted(), 1);
}

#[tokio::test]
async fn goaway_lets_the_call_under_way_finish_and_moves_the_next() {
    let pki = Pki::new();
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inside, door) = (Arc::clone(&entered), Arc::clone(&leave));
    let service = Script::new(move |node, number| {
        let (inside, door) = (Arc::clone(&inside), Arc::clone(&door));
        async move {
            if number == 0 {
                inside.notify_one();
                door.notified().await;
            }
            Ok(node)
        }
    });
    let first = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), service).await;
    let address = first.address.to_string();
    let client = client(&pki, &address);
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.lookup("slow", LONG).await }
    });
    entered.notified().await;
    first.drain();
    let second = loop {
        // The first listener is closed by a task of its own.
        match tokio::net::TcpListener::bind(&address).await {
            Ok(free) => {
                drop(free);
                break echo(&pki, &address).await;
            }
            Err(_) => tokio::task::yield_now().await,
        }
    };
    client.lookup("next", LONG).await.unwrap();
    assert_eq!(second.accepted(), 1);
    leave.notify_one();
    assert_eq!(slow.await.unwrap().unwrap().expose(), "slow");
}

#[tokio::test]
async fn an_old_connection_is_replaced_while_it_serves() {
    let pki = Pki::new();
    let gateway = echo(&pki, "127.0.0.1:0").await;
    let client = client(&pki, gateway.address);
    client.lookup("1", LONG).await.unwrap();
    for connections in 2..4 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(20 * 60)).await;
        tokio::time::resume();
        while gateway.accepted() < connections {
            client.lookup("1", LONG).await.unwrap();
        }
        for _ in 0..100 {
            client.lookup("1", LONG).await.unwrap();
        }
        assert_eq!(gateway.accepted(), connections);
    }
}

#[tokio::test]
async fn draining_is_retried_once_on_a_fresh_connection() {
    let pki = Pki::new();
    let service = Script::new(|node: String, number| async move {
        if number == 0 || node == "always" { Err(refusal(Code::Unavailable, "DRAINING")) } else { Ok(node) }
    });
    let gateway = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), service).await;
    let client = client(&pki, gateway.address);
    client.lookup("1", LONG).await.unwrap();
    assert_eq!(gateway.accepted(), 2);

    let begun = Instant::now();
    for _ in 0..100 {
        let error = client.lookup("always", LONG).await.unwrap_err();
        assert!(matches!(error, LookupError::Unavailable { reason } if reason.as_str() == Some("DRAINING")));
    }
    // One handshake per half second, not one per lookup.
    let handshakes = gateway.accepted() as u128 - 2;
    assert!(handshakes <= 1 + begun.elapsed().as_millis() / 500, "{handshakes}");
}

#[tokio::test]
async fn a_refusal_is_not_asked_twice() {
    let pki = Pki::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let service = Script::new(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Err(refusal(Code::Unavailable, "BACKEND_UNAVAILABLE")) }
    });
    let gateway = Gateway::start("127.0.0.1:0", Some(pki.server("server", true)), service).await;
    let client = client(&pki, gateway.address);
    assert!(matches!(client.lookup("1", LONG).await, Err(LookupError::Unavailable { .. })));
    assert_eq!((calls.load(Ordering::Relaxed), gateway.accepted()), (1, 1));
}

#[tokio::test]
async fn while_nobody_listens_lookups_fail_at_once_and_recover_by_themselves() {
    let pki = Pki::new();
    let (address, socket) = peers::closed();
    let client = client(&pki, address);
    for _ in 0..20 {
        let error = client.lookup("1", LONG).await.unwrap_err();
        assert_eq!(error.to_string(), "connect: connection refused");
    }
    let service = Script::new(|node, _| async { Ok(node) });
    let gateway = Gateway::on(socket.listen(16).unwrap(), Some(pki.server("server", true)), service);
    let recovered = async {
        while client.lookup("1", LONG).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, recovered).await.unwrap();
    assert_eq!(gateway.accepted(), 1);
}

#[tokio::test]
async fn callers_wait_for_one_dial_each_within_its_own_deadline() {
    let pki = Pki::new();
    let client = client(&pki, peers::raw(Peer::Stopped).await);
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        callers.spawn(async move { client.lookup("1", Duration::from_millis(200)).await.unwrap_err() });
    }
    for error in callers.join_all().await {
        let LookupError::Dial(error) = error else { panic!("{error}") };
        assert!(error.step == Step::Tls && matches!(error.cause, Cause::TimedOut), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_client_outlives_the_runtime_that_dialled() {
    let pki = Pki::new();
    let server = tokio::runtime::Runtime::new().unwrap();
    let gateway = server.block_on(echo(&pki, "127.0.0.1:0"));
    let client = client(&pki, gateway.address);
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.lookup("1", LONG)).unwrap();
    }
    let hung = client_of_a_stopped_peer(&server, &pki);
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(hung.lookup("1", Duration::from_millis(100))).unwrap_err();
        assert_eq!(error.to_string(), "tls: timed out");
    }
}

fn client_of_a_stopped_peer(runtime: &tokio::runtime::Runtime, pki: &Pki) -> Client {
    client(pki, runtime.block_on(peers::raw(Peer::Stopped)))
}
