//! Connections that never come to an authenticated RPC, or fail at it again and again, are closed.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    pki::Token,
    rawh2::{Connection, End, Reason, Request},
    wire::{self, closed_within, frames},
};
use tokio::io::AsyncWriteExt;

use crate::ground::{BOUND, becomes, raw, reaches, send};

async fn fail(connection: &Connection, times: usize) {
    for _ in 0..times {
        let answer = send(connection, Request::lookup("2000").token(&Token::random())).await;
        assert_eq!(answer.ending(), "UNAUTHENTICATED", "{answer:?}");
    }
}

#[tokio::test]
async fn eight_failures_in_a_row_close_the_connection() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for address in [gateway.lookup, gateway.control] {
        let connection = raw(&deployment, address, &deployment.registrar).await;
        fail(&connection, 8).await;
        let end = connection.closed(BOUND).await;
        assert!(matches!(end, End::Finished | End::GoAway(Reason::NO_ERROR)), "{end:?}");
        let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        assert!(answer.http.is_none(), "{answer:?}");
    }
}

#[tokio::test]
async fn seven_failures_and_a_success_do_not() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    for _ in 0..4 {
        fail(&connection, 7).await;
        let answer = send(&connection, Request::health_check("").token(&deployment.registrar.token)).await;
        assert_eq!(answer.ending(), "OK", "{answer:?}");
    }
    fail(&connection, 8).await;
    connection.closed(BOUND).await;
}

#[tokio::test]
async fn without_an_authenticated_rpc_a_connection_is_closed_in_time() {
    let deployment = Deployment::mtls()
        .set("limits.authentication_timeout", "1s")
        .set("control.authentication_timeout", "1s")
        .set("limits.handshake_timeout", "1s")
        .set("control.handshake_timeout", "1s");
    let gateway = deployment.start();
    for (listener, address) in [("lookup", gateway.lookup), ("control", gateway.control)] {
        let target = deployment.target(address, &deployment.registrar);
        let good = raw(&deployment, address, &deployment.registrar).await;
        let check = || Request::health_check("").token(&deployment.registrar.token);
        assert_eq!(send(&good, check()).await.ending(), "OK");

        let mut silent = wire::silent(address, 3).await;
        let mut mute = target.connect().await.unwrap();
        let mut polite = target.connect().await.unwrap();
        polite.write_all(&frames::hello()).await.unwrap();
        let wrong = raw(&deployment, address, &deployment.registrar).await;
        fail(&wrong, 1).await;
        let half = raw(&deployment, address, &deployment.registrar).await;
        let mut half_sent = half.begin(Request::lookup("2000").token(&Token::random()).no_end()).await;

        for stream in &mut silent {
            closed_within(stream, BOUND).await;
        }
        closed_within(&mut *mute, BOUND).await;
        closed_within(&mut *polite, BOUND).await;
        wrong.closed(BOUND).await;
        half_sent.messages(1, BOUND).await;
        half.closed(BOUND).await;
        reaches(&gateway, "credgate_connections_failed_total", &[("listener", listener), ("cause", "timed_out")], 7.0)
            .await;
        assert_eq!(send(&good, check()).await.ending(), "OK", "one that has shown who it is may idle");
    }
    becomes(&gateway, "credgate_connections", &[], 0.0).await;
}

#[tokio::test]
async fn an_old_connection_is_asked_to_go_and_its_calls_finish() {
    let deployment = Deployment::mtls().with_scripted(4).set("limits.max_connection_age", "1s");
    let (gateway, script) = deployment.start_scripted().await;
    script.default(credgate_support::scripted::Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let long = Request::lookup("1999").token(&deployment.registrar.token);
    let under_way = connection.begin(long).await;
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    // The GOAWAY shows as a client that may open no more streams.
    let begin = tokio::time::Instant::now();
    loop {
        let check = Request::health_check("").token(&deployment.registrar.token);
        if connection.send(check, BOUND).await.http.is_none() {
            break;
        }
        assert!(begin.elapsed() < BOUND, "no GOAWAY");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    script.release_all().await;
    let answer = under_way.finish(BOUND).await;
    assert!(
        matches!(answer.ending().as_str(), "NOT_FOUND NODE_NOT_FOUND" | "UNAVAILABLE BACKEND_TIMEOUT"),
        "{answer:?}"
    );
    connection.closed(BOUND).await;
}
