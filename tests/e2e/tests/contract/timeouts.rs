//! The deadline: the caller's grpc-timeout, a little less of it, and the gateway's own cap.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    rawh2::{Connection, Request},
    scripted::Behaviour,
};

use crate::{
    ground::{BOUND, raw, send},
    row,
};

fn ask(deployment: &Deployment) -> Request {
    Request::lookup("2000").token(&deployment.registrar.token)
}

#[tokio::test]
async fn a_garbled_grpc_timeout_is_the_callers_mistake() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let bad =
        ["", "m", "1", "100", "1s", "-1m", "+1m", "1.5S", "123456789m", "000000001S", "1mm", "0x1S", "1 S", "garbage"];
    for value in bad {
        let answer = send(&connection, ask(&deployment).header("grpc-timeout", value)).await;
        assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{value:?}: {answer:?}");
    }
    let answer = send(&connection, ask(&deployment).header("grpc-timeout", b"1\xffS")).await;
    assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{answer:?}");
    let answer = send(&connection, ask(&deployment).header("grpc-timeout", "1S").also("grpc-timeout", "1S")).await;
    assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST", "{answer:?}");
    assert_eq!(script.counts().await.started, 0);
}

#[tokio::test]
async fn a_long_grpc_timeout_is_no_mistake() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    for value in ["99999999H", "99999999M", "99999999S", "00000020S", "20000m", "20000000u", "1H", "1M"] {
        let answer = send(&connection, ask(&deployment).header("grpc-timeout", value)).await;
        assert_eq!(answer.ending(), "OK", "{value}: {answer:?}");
    }
}

#[tokio::test]
async fn nothing_left_on_arrival_is_not_asked() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    for value in ["0n", "0H", "00000000S", "1n"] {
        let answer = send(&connection, ask(&deployment).header("grpc-timeout", value)).await;
        assert_eq!(answer.ending(), "UNAVAILABLE BACKEND_TIMEOUT", "{value}: {answer:?}");
        row::BACKEND_TIMEOUT.fits(&answer.status().unwrap());
    }
    assert_eq!(script.counts().await.started, 0);
}

/// The gateway keeps a tenth back, at most 50 ms. How much of that is left on a busy machine is chance, so one answer in
/// time out of ten is asked for: without anything kept back there would be none.
#[tokio::test]
async fn the_answer_comes_before_the_caller_gives_up() {
    let deployment = Deployment::mtls().with_scripted(16).set("lookup.timeout", "10s");
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::Hang).await;
    script.forget("2000").await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    for (value, patience) in [("100m", Duration::from_millis(100)), ("600m", Duration::from_millis(600))] {
        let mut in_time = false;
        for _ in 0..10 {
            let request = Request::lookup("1999").token(&deployment.registrar.token).header("grpc-timeout", value);
            let answer = send(&connection, request).await;
            assert_eq!(answer.ending(), "UNAVAILABLE BACKEND_TIMEOUT", "{answer:?}");
            in_time |= answer.after < patience;
            if in_time {
                break;
            }
        }
        assert!(in_time, "{value}: no answer in time");
    }
}

#[tokio::test]
async fn the_gateways_own_cap_holds_without_and_above_the_callers() {
    let deployment = Deployment::mtls().with_scripted(16).set("lookup.timeout", "200ms");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("2000", Behaviour::Hang).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    for request in [ask(&deployment), ask(&deployment).header("grpc-timeout", "99999999H")] {
        let answer = send(&connection, request).await;
        row::BACKEND_TIMEOUT.fits(&answer.status().unwrap());
    }
    // A provider that watches the deadline itself ends alike.
    script.node("2000", Behaviour::password("late").delayed(60_000)).await;
    row::BACKEND_TIMEOUT.fits(&send(&connection, ask(&deployment)).await.status().unwrap());
}

#[tokio::test]
async fn a_request_that_stays_half_sent_ends_at_the_deadline() {
    let deployment = Deployment::mtls().with_scripted(4).set("lookup.timeout", "300ms");
    let (gateway, script) = deployment.start_scripted().await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let ends = async |connection: &Connection, request: Request| {
        let answer = connection.send(request, BOUND).await;
        assert_eq!(answer.ending(), "UNAVAILABLE BACKEND_TIMEOUT", "{answer:?}");
    };
    ends(&connection, ask(&deployment).no_body().no_end()).await;
    ends(&connection, ask(&deployment).body(&b"\0\0\0\0\x06\x0a"[..]).no_end()).await;
    // The whole message, but the stream stays open: there might be a second one.
    ends(&connection, ask(&deployment).no_end()).await;
    assert_eq!(script.counts().await.started, 0);
    assert_eq!(send(&connection, ask(&deployment)).await.ending(), "OK");
}
