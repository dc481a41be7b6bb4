//! Connections that bring garbage, silence or too much: others notice nothing, and the failures are counted by cause.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    pki::Ca,
    process::Gateway,
    rawh2::{Connection, Reason, Request},
    wire::{self, Target, closed_within, frames},
};
use tokio::{io::AsyncWriteExt, task::JoinHandle};

use crate::ground::{BOUND, raw, reaches, send};

const FAILED: &str = "credgate_connections_failed_total";

/// Two good clients, one on a kept connection, one that opens a new one each time, until the test is over.
struct Good {
    stop: Arc<AtomicBool>,
    tasks: [JoinHandle<usize>; 2],
}

impl Good {
    async fn begin(deployment: &Arc<Deployment>, gateway: &Gateway) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let kept = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
        let asking = |fresh: bool| {
            let (deployment, stop, mut client) = (Arc::clone(deployment), Arc::clone(&stop), kept.clone());
            let address = gateway.lookup;
            tokio::spawn(async move {
                let mut answers = 0;
                while !stop.load(Ordering::Relaxed) || answers < 10 {
                    if fresh {
                        client = Client::open(&deployment, address, &deployment.registrar).await;
                    }
                    assert_eq!(client.lookup("2000").await.as_deref(), Ok(deployment.nodes.password("2000")));
                    answers += 1;
                }
                answers
            })
        };
        let tasks = [asking(false), asking(true)];
        Self { stop, tasks }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            assert!(task.await.unwrap() >= 10);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_clients_notice_nothing_of_what_is_no_tls() {
    let deployment = Arc::new(Deployment::mtls().set("limits.handshake_timeout", "1s"));
    let gateway = deployment.start();
    let good = Good::begin(&deployment, &gateway).await;
    let mut silent = wire::silent(gateway.lookup, 20).await;
    for _ in 0..10 {
        for bytes in [&b"\x00\xff garbage \r\n\r\n"[..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &frames::hello()] {
            let mut stream = wire::shout(gateway.lookup, bytes).await.unwrap();
            closed_within(&mut stream, BOUND).await;
        }
        // Half a ClientHello, and away; and not even that.
        drop(wire::shout(gateway.lookup, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await.unwrap());
        drop(Target::plain(gateway.lookup).connect_tcp().await.unwrap());
    }
    for stream in &mut silent {
        closed_within(stream, BOUND).await;
    }
    let failed = |cause| [("listener", "lookup"), ("cause", cause)];
    reaches(&gateway, FAILED, &failed("not_tls"), 30.0).await;
    reaches(&gateway, FAILED, &failed("gone"), 20.0).await;
    reaches(&gateway, FAILED, &failed("timed_out"), 20.0).await;
    good.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_clients_notice_nothing_of_clients_without_the_right_certificate() {
    let deployment = Arc::new(Deployment::mtls());
    let gateway = deployment.start();
    let good = Good::begin(&deployment, &gateway).await;
    let other = Ca::new("another CA");
    let stranger = other.issue(&credgate_support::pki::Leaf::client().dns("registrar-east.example.net"));
    for _ in 0..10 {
        for target in [
            Target::tls(gateway.lookup, deployment.ca.roots(), None),
            Target::tls(gateway.lookup, deployment.ca.roots(), Some(&stranger)),
        ] {
            let connection = Connection::open(&target).await.unwrap();
            let answer = send(&connection, Request::lookup("2000").token(&deployment.registrar.token)).await;
            assert!(answer.http.is_none(), "{answer:?}");
        }
        // This one does not trust us.
        let own = deployment.registrar.certificate.as_ref();
        assert!(Target::tls(gateway.lookup, other.roots(), own).connect().await.is_err());
    }
    let failed = |cause| [("listener", "lookup"), ("cause", cause)];
    for cause in ["no_certificate", "certificate_of_another_ca", "refused_by_client"] {
        reaches(&gateway, FAILED, &failed(cause), 10.0).await;
    }
    good.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_clients_notice_nothing_of_what_is_no_http2() {
    let deployment = Arc::new(Deployment::mtls().set("limits.authentication_timeout", "1s"));
    let gateway = deployment.start();
    let good = Good::begin(&deployment, &gateway).await;
    let target = deployment.target(gateway.lookup, &deployment.registrar);
    for _ in 0..5 {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
            &[frames::hello(), frames::frame(frames::HEADERS, 4, 2, b"\xff\xff\xff")].concat(),
            &[frames::hello(), frames::frame(frames::DATA, 0, 1, b"x")].concat(),
            &[frames::hello(), vec![0xff; 64]].concat(),
        ] {
            let mut stream = target.connect().await.unwrap();
            stream.write_all(bytes).await.unwrap();
            closed_within(&mut *stream, BOUND).await;
        }
        drop(target.connect().await.unwrap());
    }
    let mut mute = target.connect().await.unwrap();
    closed_within(&mut *mute, BOUND).await;
    reaches(&gateway, FAILED, &[("listener", "lookup"), ("cause", "gone")], 20.0).await;
    reaches(&gateway, FAILED, &[("listener", "lookup"), ("cause", "timed_out")], 1.0).await;
    good.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_clients_notice_nothing_of_requests_that_are_too_much() {
    let deployment = Arc::new(Deployment::mtls());
    let gateway = deployment.start();
    let good = Good::begin(&deployment, &gateway).await;
    for _ in 0..5 {
        let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        let lookup = || Request::lookup("2000").token(&deployment.registrar.token);
        // h2 answers this one itself, below anything of ours: no gRPC status, and the connection goes on.
        let long = send(&connection, lookup().header("x-long", "x".repeat(9 * 1024))).await;
        assert!(long.status().is_none() && long.http.is_some_and(|status| status == 431), "{long:?}");
        assert_eq!(send(&connection, lookup()).await.ending(), "OK");
        let bomb = send(&connection, lookup().header("x-bomb", "x".repeat(20 * 1024))).await;
        assert!(bomb.status().is_none() && bomb.data.is_empty(), "{bomb:?}");
        let many = (0..400).fold(lookup(), |request, number| request.header(&format!("x-{number}"), "x".repeat(50)));
        let other = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        let bomb = send(&other, many).await;
        assert!(bomb.status().is_none() && bomb.data.is_empty(), "{bomb:?}");

        let connection = raw(&deployment, gateway.lookup, &deployment.registrar).await;
        for _ in 0..10 {
            let mut half = connection.begin(lookup().body(&b"\0\0\0\0\x06\x0a"[..]).no_end()).await;
            half.reset(Reason::CANCEL);
        }
        let answer = send(&connection, lookup()).await;
        assert_eq!(answer.password().as_deref(), Some(deployment.nodes.password("2000")), "{answer:?}");
    }
    good.end().await;
}
