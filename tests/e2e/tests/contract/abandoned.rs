//! The slot follows the work: callers that leave, time out or reset free nothing that still runs.

use std::time::Duration;

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    rawh2::{Reason, Request},
    scripted::Behaviour,
    wire::frames,
};

use crate::{
    ground::{BOUND, becomes, number, raw, reaches, send},
    row,
};

const TAKEN: &str = "credgate_slots_in_use";

#[tokio::test]
async fn work_whose_caller_has_left_keeps_its_slot() {
    let deployment = Deployment::mtls().with_scripted(1).set("lookup.queue", 0).set("lookup.timeout", "300ms");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let held = || Request::lookup("1999").token(&deployment.registrar.token);
    let cancelled = [("method", "LookupCredential"), ("code", "CANCELLED")];

    // By its deadline, by a reset, by closing the connection.
    let timed_out = send(&connection, held()).await;
    row::BACKEND_TIMEOUT.fits(&timed_out.status().unwrap());
    for round in 1..=3_u32 {
        script.wait_for(|counts| counts.held == 1, BOUND).await;
        becomes(&gateway, TAKEN, &[], 1.0).await;
        let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        row::AT_CAPACITY.fits(&answer.status().unwrap());
        script.release_all().await;
        becomes(&gateway, TAKEN, &[], 0.0).await;
        let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
        assert_eq!(answer.ending(), "OK", "{answer:?}");
        if round == 1 {
            let mut exchange = connection.begin(held()).await;
            script.wait_for(|counts| counts.held == 1, BOUND).await;
            exchange.reset(Reason::CANCEL);
            reaches(&gateway, "credgate_rpcs_total", &cancelled, 1.0).await;
        }
        if round == 2 {
            let own = raw(&deployment, gateway.lookup, &deployment.registrar).await;
            let _exchange = own.begin(held()).await;
            script.wait_for(|counts| counts.held == 1, BOUND).await;
            drop(own);
            reaches(&gateway, "credgate_rpcs_total", &cancelled, 2.0).await;
        }
    }
    assert_eq!(script.counts().await.most, 1);
}

/// G3, scaled: calls that are reset as soon as they are sent, each of which starts work of a second.
#[tokio::test]
async fn two_hundred_calls_that_are_reset_at_once_never_exceed_the_slots() {
    let deployment = Deployment::mtls().with_scripted(8).set("lookup.queue", 16);
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::None.worked(1000)).await;
    let mut sent = 0_u32;
    for _ in 0..10 {
        let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        for _ in 0..20 {
            let request = Request::lookup("1999").token(&deployment.registrar.token);
            let mut exchange = connection.begin(request).await;
            // Let it arrive: what is reset before it is accepted never becomes a call.
            exchange.messages(1, Duration::from_millis(1)).await;
            exchange.reset(Reason::CANCEL);
            sent += 1;
        }
        let seen = f64::from(sent);
        let lookups = [("method", "LookupCredential")];
        reaches(&gateway, "credgate_rpcs_total", &lookups, seen).await;
    }
    let counts = script.counts().await;
    assert_eq!(counts.most, 8, "{counts:?}");
    assert!(counts.started >= 8, "{counts:?}");
    assert!(number(&gateway, "credgate_rpcs_total", &[("code", "CANCELLED")]).await > 0.0);
    script.wait_for(|counts| counts.running == 0, BOUND).await;
    becomes(&gateway, TAKEN, &[], 0.0).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn a_reset_flood_costs_its_own_connection_only() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    script.default(Behaviour::None.worked(200)).await;
    let good = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    good.lookup("2000").await.unwrap();
    let bearer = deployment.registrar.token.bearer();
    let stream = deployment.target(gateway.lookup, &deployment.registrar).connect().await.unwrap();
    let fields = frames::grpc_fields(credgate_proto::LOOKUP_PATH, &bearer);
    let (_, answers) = frames::reset_flood(stream, &fields, b"\0\0\0\0\x06\x0a\x041999", 5000, BOUND).await;
    let calm =
        |frame: &frames::Frame| frame.kind == frames::GOAWAY && frame.error_code() == Some(frames::ENHANCE_YOUR_CALM);
    assert!(answers.iter().any(calm), "{} frames, no ENHANCE_YOUR_CALM", answers.len());
    assert!(script.counts().await.most <= 4);
    script.wait_for(|counts| counts.running == 0, BOUND).await;
    assert_eq!(good.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
}

#[tokio::test]
async fn a_provider_that_panics_takes_nothing_with_it() {
    let deployment = Deployment::mtls().with_scripted(2).set("lookup.queue", 0);
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Panic).await;
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    for _ in 0..10 {
        row::PROVIDER_DEFECT.fits(&client.lookup_status("1999", None).await.unwrap_err());
    }
    becomes(&gateway, TAKEN, &[], 0.0).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));
    assert_eq!(client.check("liveness").await, Ok(credgate_client::ServingStatus::Serving));
    assert!(gateway.log.text().contains("panic") && !gateway.log.text().contains("scripted panic in lookup"));
}
