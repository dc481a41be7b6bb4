//! Connections that would hold a polite server up for ever (R1, R2, R3): silent ones, idle ones, busy ones, deaf ones.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::Gateway,
    rawh2::Request,
    wire::{self, frames},
};
use tokio::io::AsyncWriteExt;

use crate::{
    deaf::deaf,
    ground::{BOUND, raw, reaches, send},
};

/// Whatever waits for its budget here misses the bound of the test.
fn patient() -> Deployment {
    Deployment::mtls().set("shutdown.drain_timeout", "60s").set("shutdown.close_timeout", "60s")
}

async fn ends_cleanly(gateway: &Gateway) {
    gateway.terminate();
    let exit = gateway.ended(BOUND).await;
    assert_eq!((exit.code, exit.signal), (Some(0), None), "{}", gateway.log.tail());
}

#[tokio::test]
async fn connections_without_a_preface_hold_nothing_up() {
    let deployment = patient();
    let gateway = deployment.start();
    let (mut silent, mut mute) = (Vec::new(), Vec::new());
    for (listener, address) in [("lookup", gateway.lookup), ("control", gateway.control)] {
        silent.extend(wire::silent(address, 10).await);
        let target = deployment.target(address, &deployment.registrar);
        for _ in 0..10 {
            mute.push(target.connect().await.unwrap());
        }
        let mut polite = target.connect().await.unwrap();
        polite.write_all(&frames::hello()).await.unwrap();
        mute.push(polite);
        reaches(&gateway, "credgate_connections", &[("listener", listener)], 21.0).await;
    }
    ends_cleanly(&gateway).await;
}

#[tokio::test]
async fn idle_and_watching_connections_hold_nothing_up() {
    let deployment = patient();
    let gateway = deployment.start();
    let mut idle = Vec::new();
    let mut watches = Vec::new();
    for address in [gateway.lookup, gateway.control] {
        for identity in [&deployment.registrar, &deployment.probe] {
            for _ in 0..3 {
                let connection = raw(&deployment, address, identity).await;
                let check = Request::health_check("").token(&identity.token);
                assert_eq!(send(&connection, check).await.ending(), "OK");
                idle.push(connection);
                let client = Client::open(&deployment, address, identity).await;
                let mut watch = client.watch("readiness").await.unwrap();
                assert_eq!(watch.next(BOUND).await, Ok(Some(ServingStatus::Serving)));
                watches.push((client, watch));
            }
        }
    }
    ends_cleanly(&gateway).await;
    for (_, mut watch) in watches {
        assert_eq!(watch.next(BOUND).await, Ok(Some(ServingStatus::NotServing)));
        assert_eq!(watch.next(BOUND).await, Ok(None));
    }
}

#[tokio::test]
async fn a_half_sent_lookup_holds_nothing_up() {
    let deployment = patient().set("lookup.timeout", "60s").set("shutdown.drain_timeout", "30s");
    let gateway = deployment.start();
    let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
    let lookup = || Request::lookup("2000").token(&deployment.registrar.token);
    assert_eq!(send(&connection, lookup()).await.ending(), "OK");
    let _half_sent = connection.begin(lookup().body(&b"\0\0\0\0\x06\x0a"[..]).no_end()).await;
    // Answered behind it on the same connection, so the half-sent one has been read.
    assert_eq!(send(&connection, lookup()).await.ending(), "OK");
    ends_cleanly(&gateway).await;
}

#[tokio::test]
async fn a_client_that_answers_no_ping_holds_nothing_up() {
    let deployment = patient();
    let gateway = deployment.start();
    let mut connections = Vec::new();
    for address in [gateway.lookup, gateway.control] {
        let connection = deaf(&deployment, address, &deployment.registrar).await;
        let check = || Request::health_check("").token(&deployment.registrar.token);
        assert_eq!(send(&connection, check()).await.ending(), "OK");
        let half_sent = connection.begin(check().no_body().no_end()).await;
        connections.push((connection, half_sent));
    }
    ends_cleanly(&gateway).await;
}

#[tokio::test]
async fn clients_that_stay_busy_hold_nothing_up() {
    let deployment = Arc::new(patient());
    let gateway = deployment.start();
    let (stop, found) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for _ in 0..3 {
        let connection = deaf(&deployment, gateway.lookup, &deployment.registrar).await;
        let (deployment, stop, found) = (Arc::clone(&deployment), Arc::clone(&stop), Arc::clone(&found));
        clients.push(tokio::spawn(async move {
            let mut endings = std::collections::BTreeSet::new();
            while !stop.load(Ordering::Relaxed) {
                let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
                found.fetch_add(usize::from(answer.ending() == "OK"), Ordering::Relaxed);
                if answer.http.is_none() {
                    break;
                }
                endings.insert(answer.ending());
            }
            endings
        }));
    }
    reaches(&gateway, "credgate_rpcs_total", &[("method", "LookupCredential"), ("code", "OK")], 30.0).await;
    ends_cleanly(&gateway).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        let endings = client.await.unwrap();
        let allowed = ["OK", "UNAVAILABLE DRAINING"];
        assert!(endings.iter().all(|ending| allowed.contains(&ending.as_str())), "{endings:?}");
    }
    assert!(found.load(Ordering::Relaxed) >= 30);
}
