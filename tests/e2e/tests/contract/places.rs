//! Places for connections and handshakes: a source has its share, the silent make room, a crowd gets in bit by bit.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    rawh2::{Connection, Request},
    scripted::Behaviour,
    wire::{self, closed_within},
};
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use crate::ground::{BOUND, becomes, raw, reaches, send};

const FAILED: &str = "credgate_connections_failed_total";

/// The first bytes of a ClientHello of 512.
const HALF_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[tokio::test]
async fn one_source_cannot_take_all_places() {
    let deployment = Deployment::mtls().set("limits.connections_per_source", 5).set("limits.connections", 7);
    let gateway = deployment.start();
    let target = deployment.target(gateway.lookup, &deployment.registrar);
    let mut held = Vec::new();
    for (source, connections) in [([127, 0, 0, 1], 5), ([127, 0, 0, 2], 2)] {
        for _ in 0..connections {
            let connection = Connection::open(&target.clone().from(source)).await.unwrap();
            let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
            assert_eq!(answer.ending(), "OK", "each source has its own places: {answer:?}");
            held.push(connection);
        }
    }
    let mut sixth = target.connect_tcp().await.unwrap();
    closed_within(&mut sixth, BOUND).await;
    reaches(&gateway, FAILED, &[("cause", "too_many_of_source")], 1.0).await;
    let mut eighth = target.from([127, 0, 0, 3]).connect_tcp().await.unwrap();
    closed_within(&mut eighth, BOUND).await;
    reaches(&gateway, FAILED, &[("cause", "too_many")], 1.0).await;
    let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
    assert_eq!(probe.check("liveness").await, Ok(credgate_client::ServingStatus::Serving));
}

/// Whoever has no token cannot keep those out that have one, neither from their own address nor from others.
#[tokio::test]
async fn connections_that_do_not_authenticate_make_room() {
    let deployment = Deployment::mtls().merge(
        "[control]\nconnections = 6\nconnections_per_source = 4\nauthentication_timeout = '50s'\nhandshake_timeout = '50s'",
    );
    let gateway = deployment.start();
    let target = deployment.target(gateway.control, &deployment.registrar);
    let mut held = Vec::new();
    for source in [[127, 0, 0, 1], [127, 0, 0, 2], [127, 0, 0, 1]] {
        for _ in 0..4 {
            held.push(target.clone().from(source).connect().await.unwrap());
        }
        let probe = Client::open(&deployment, gateway.control, &deployment.probe).await;
        assert_eq!(probe.check("liveness").await, Ok(credgate_client::ServingStatus::Serving));
    }
    reaches(&gateway, FAILED, &[("listener", "control"), ("cause", "no_room")], 8.0).await;
}

/// T11: a full table of handshakes makes room from its oldest entry that has not said what it wants; who says nothing at
/// all is not in it.
#[tokio::test]
async fn slow_handshakes_make_room_and_silent_ones_need_none() {
    let deployment = Deployment::mtls().set("limits.handshakes", 4).set("limits.handshake_timeout", "50s");
    let gateway = deployment.start();
    let mut held = wire::silent(gateway.lookup, 12).await;
    for _ in 0..12 {
        held.push(wire::shout(gateway.lookup, HALF_HELLO).await.unwrap());
    }
    reaches(&gateway, FAILED, &[("cause", "no_room")], 8.0).await;
    becomes(&gateway, "credgate_connections", &[("listener", "lookup")], 16.0).await;
    for _ in 0..6 {
        let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
        held.push(wire::shout(gateway.lookup, HALF_HELLO).await.unwrap());
    }
}

/// A whole ClientHello, and then nothing: a place is lent for half a second where others wait.
#[tokio::test]
async fn handshakes_that_stand_still_make_room() {
    let deployment = Deployment::mtls().set("limits.handshakes", 4).set("limits.handshake_timeout", "50s");
    let gateway = deployment.start();
    let hello = wire::client_hello(&deployment.target(gateway.lookup, &deployment.registrar));
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(wire::shout(gateway.lookup, &hello).await.unwrap());
    }
    for _ in 0..4 {
        let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
        held.push(wire::shout(gateway.lookup, &hello).await.unwrap());
    }
    reaches(&gateway, FAILED, &[("cause", "no_room")], 1.0).await;
}

/// T11 to the letter, with the limits that stand when nobody sets any.
#[tokio::test]
async fn four_hundred_silent_connections_keep_nobody_out() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let _silent = wire::silent(gateway.lookup, 400).await;
    for _ in 0..5 {
        let budget = Duration::from_secs(1);
        let client = Client::dial(&deployment, gateway.lookup, &deployment.registrar, budget).await.unwrap();
        assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    }
}

/// G9, scaled: everybody comes back in the same moment, and comes again when there was no room.
#[tokio::test]
async fn a_crowd_that_comes_at_once_gets_in_bit_by_bit() {
    let deployment = Deployment::mtls().set("limits.handshakes", 8);
    let gateway = deployment.start();
    let begin = Instant::now();
    let client = async || loop {
        match Client::dial(&deployment, gateway.lookup, &deployment.registrar, BOUND).await {
            Ok(client) => return client.lookup("2000").await,
            Err(error) => assert!(begin.elapsed() < BOUND, "{error}"),
        }
        sleep(Duration::from_millis(10)).await;
    };
    for answer in join_all((0..60).map(|_| client())).await {
        assert_eq!(answer.as_deref(), Ok(deployment.nodes.password("2000")));
    }
}

#[tokio::test]
async fn one_connection_has_its_streams_and_no_more() {
    let deployment = Deployment::mtls().with_scripted(16).set("limits.streams_per_connection", 3);
    let deployment = deployment.set("lookup.timeout", "30s");
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let check = || Request::health_check("").token(&deployment.registrar.token);
    assert_eq!(send(&connection, check()).await.ending(), "OK", "and the settings have come");
    let mut held = Vec::new();
    for count in 1..=3 {
        held.push(connection.begin(Request::lookup("1").token(&deployment.registrar.token)).await);
        script.wait_for(|counts| counts.held == count, BOUND).await;
    }
    let fourth = tokio::time::timeout(Duration::from_millis(100), send(&connection, check())).await;
    assert!(fourth.is_err(), "a fourth call waits for a free stream: {fourth:?}");
    script.release_all().await;
    for exchange in held {
        assert_eq!(exchange.finish(BOUND).await.ending(), "NOT_FOUND NODE_NOT_FOUND");
    }
    assert_eq!(send(&connection, check()).await.ending(), "OK");
}
