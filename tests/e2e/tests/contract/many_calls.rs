//! Very many calls on one connection: an honest registrar's is not cut, however its calls end.
//!
//! HTTP/2 libraries count what looks like abuse: small DATA frames that nobody reads, frames for calls that are over,
//! calls that are reset. Each of these counters must stay out of the way of a client that does nothing wrong.

use std::{sync::Arc, time::Duration};

use credgate_load::{Caller, Closed, Link, Nodes, Question, closed};
use credgate_support::{
    deployment::Deployment,
    rawh2::{Connection, Reason, Request},
    scripted::Behaviour,
    wire::frames,
};
use futures::future::join_all;
use tokio::io::AsyncWriteExt;

use crate::ground::{BOUND, number, raw, send};

#[tokio::test]
async fn ten_thousand_calls_in_one_burst() {
    let deployment = Deployment::mtls().with_nodes(1000);
    let gateway = deployment.start();
    let caller = Caller::of(&deployment, gateway.lookup, &deployment.registrar);
    let nodes = Arc::new(Nodes::of(&deployment.nodes));
    let plan = Closed { connections: 1, outstanding: 10_000, calls: 10_000, duration: BOUND };
    let report = closed(&caller.with_timeout(BOUND), &nodes, plan).await.unwrap();
    assert_eq!((report.right(), report.calls()), (10_000, 10_000), "{report:?}");
    assert_eq!(number(&gateway, "credgate_connections_failed_total", &[]).await, 0.0);
}

/// Refusals come before the message was read; the rest of the call arrives when it is over for the gateway.
#[tokio::test]
async fn five_thousand_calls_that_are_refused_before_their_message_comes() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    // A probe may not look up, which is said without a look at its message; the rate limit refuses in the same way.
    let bearer = deployment.probe.token.bearer();
    let fields = frames::grpc_fields(credgate_proto::LOOKUP_PATH, &bearer);
    let stream = deployment.target(gateway.lookup, &deployment.probe).connect().await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    writer.write_all(&frames::hello()).await.unwrap();
    writer.write_all(&frames::frame(frames::SETTINGS, 1, 0, &[])).await.unwrap();
    let mut refused = 0;
    for round in 0..50_u32 {
        let ids = || (0..100).map(|call| (round * 100 + call) * 2 + 1);
        let heads: Vec<u8> = ids().flat_map(|id| frames::headers(id, &fields, false)).collect();
        writer.write_all(&heads).await.unwrap();
        let mut ended = 0;
        while ended < 100 {
            let frame = frames::next(&mut reader).await.unwrap_or_else(|| panic!("cut after {refused} refusals"));
            assert_ne!(frame.kind, frames::GOAWAY, "after {refused} refusals: {frame:?}");
            ended += u32::from(frame.kind == frames::HEADERS && frame.flags & 1 == 1);
        }
        refused += ended;
        // Two frames, as some client libraries send it.
        let question = b"\0\0\0\0\x06\x0a\x042000";
        let rest = ids().flat_map(|id| [frames::data(id, question, false), frames::data(id, b"", true)].concat());
        writer.write_all(&rest.collect::<Vec<u8>>()).await.unwrap();
    }
    writer.write_all(&frames::frame(frames::PING, 0, 0, b"over yet")).await.unwrap();
    loop {
        let frame = frames::next(&mut reader).await.unwrap_or_else(|| panic!("cut after {refused} refusals"));
        assert_ne!(frame.kind, frames::GOAWAY, "after {refused} refusals: {frame:?}");
        if frame.kind == frames::PING && frame.payload == b"over yet" {
            break;
        }
    }
    assert_eq!(refused, 5000);
}

/// h2 of 2026 as a client: it closes a connection on which more small answers wait to be read than half its window holds
/// at 256 bytes each. That is the client's own doing; its window, or `streams_per_connection`, helps.
#[tokio::test]
async fn answers_that_wait_to_be_read_are_the_clients_window() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let ask = async |window: u32, calls: usize| {
        let caller = Caller::of(&deployment, gateway.lookup, &deployment.registrar);
        let link = Link::with_windows(&caller, 65_535, window).await.unwrap();
        let question = Question::new("2000", Some(deployment.nodes.password("2000")));
        link.unread(&question, calls).await
    };
    // The window that HTTP/2 gives when nobody asks for another (RFC 9113, section 6.9.2).
    assert_eq!(ask(65_535, 256).await.unwrap_err(), "GOAWAY ENHANCE_YOUR_CALM");
    assert_eq!(ask(1 << 20, 256).await, Ok(256));
    // 104 calls of at most 255 bytes each fit in the least that h2 allows, 25,600.
    assert_eq!(ask(65_535, 100).await, Ok(100));
}

/// G2: a client that gives up often is no flood, nor is one that gives up on everything at once.
#[tokio::test]
async fn honest_cancels_cut_nothing() {
    let deployment = Deployment::mtls().with_scripted(64);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::None.delayed(20)).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let good = async |connection: &Connection| {
        let answer = send(connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        assert_eq!(answer.password().as_deref(), Some(deployment.nodes.password("2000")), "{answer:?}");
    };
    for moment in 0..300 {
        let mut call = connection.begin(Request::lookup("1999").token(&deployment.registrar.token)).await;
        if moment % 3 > 0 {
            call.messages(1, Duration::from_millis(moment % 3 * 3)).await;
        }
        call.reset(Reason::CANCEL);
        if moment % 20 == 0 {
            good(&connection).await;
        }
    }
    for _ in 0..5 {
        let begin = (0..200).map(|_| connection.begin(Request::lookup("1999").token(&deployment.registrar.token)));
        for mut call in join_all(begin).await {
            call.reset(Reason::CANCEL);
        }
        good(&connection).await;
    }
}
