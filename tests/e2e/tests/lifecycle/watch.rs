//! What a Watch tells: changes, never the same twice, to a slow watcher only the newest; and how long a name may be.

use std::time::Duration;

use credgate_client::ServingStatus::{NotServing, ServiceUnknown, Serving};
use credgate_support::{
    deployment::Deployment,
    rawh2::{Connection, Request},
    scripted::CheckBehaviour,
    wire::frames,
};
use tokio::{io::AsyncWriteExt, time::timeout};

use crate::ground::{BOUND, probe};

fn watchful() -> Deployment {
    Deployment::mtls().with_scripted(4).merge("[health]\ninterval = \"100ms\"\nmax_age = \"5s\"")
}

#[tokio::test]
async fn every_change_is_told_once_and_nothing_else() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    let probe = probe(&deployment, &gateway).await;
    let (mut readiness, mut startup) = (probe.watch("").await.unwrap(), probe.watch("startup").await.unwrap());
    assert_eq!((readiness.next(BOUND).await, startup.next(BOUND).await), (Ok(Some(Serving)), Ok(Some(Serving))));
    for _ in 0..3 {
        for (behaviour, status) in [(CheckBehaviour::Fail, NotServing), (CheckBehaviour::Ok, Serving)] {
            script.check(behaviour).await;
            // Were one told twice, the next would not be the other.
            assert_eq!(readiness.next(BOUND).await, Ok(Some(status)));
            let checks = script.counts().await.checks;
            script.wait_for(|counts| counts.checks > checks + 2, BOUND).await;
        }
    }
    gateway.terminate();
    // Startup has said nothing since: the next word is that of the drain.
    assert_eq!(startup.next(BOUND).await, Ok(Some(NotServing)));
    assert_eq!((startup.next(BOUND).await, readiness.next(BOUND).await), (Ok(None), Ok(Some(NotServing))));
}

/// A watcher without a window cannot be told anything. The first word is already on its way; of what happens meanwhile
/// only the last is told.
#[tokio::test]
async fn a_slow_watcher_sees_only_the_newest() {
    let deployment = watchful();
    let (gateway, script) = deployment.start_scripted().await;
    let mut others = probe(&deployment, &gateway).await.watch("readiness").await.unwrap();
    let mut slow = deployment.target(gateway.control, &deployment.probe).connect().await.unwrap();
    let bearer = deployment.probe.token.bearer();
    let fields = frames::grpc_fields("/grpc.health.v1.Health/Watch", &bearer);
    // SETTINGS_INITIAL_WINDOW_SIZE = 0 (RFC 9113, section 6.5.2).
    let no_window = frames::frame(frames::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let watch = [frames::hello(), no_window, frames::headers(1, &fields, false), frames::data(1, b"\0\0\0\0\0", true)];
    slow.write_all(&watch.concat()).await.unwrap();
    slow.flush().await.unwrap();
    others.until(Serving, BOUND).await;
    for (behaviour, status) in
        [(CheckBehaviour::Fail, NotServing), (CheckBehaviour::Ok, Serving), (CheckBehaviour::Fail, NotServing)]
    {
        script.check(behaviour).await;
        others.until(status, BOUND).await;
    }

    // WINDOW_UPDATE (RFC 9113, section 6.9).
    slow.write_all(&frames::frame(8, 0, 1, &1000_u32.to_be_bytes())).await.unwrap();
    slow.flush().await.unwrap();
    gateway.terminate();
    let told = timeout(BOUND, frames::read(&mut slow)).await.unwrap();
    let told: Vec<_> = told.into_iter().filter(|frame| frame.kind == frames::DATA && frame.stream == 1).collect();
    let words: Vec<&[u8]> = told.iter().map(|frame| &frame.payload[..]).filter(|word| !word.is_empty()).collect();
    assert_eq!(words, [b"\0\0\0\0\x02\x08\x01", b"\0\0\0\0\x02\x08\x02"], "SERVING, NOT_SERVING");
}

#[tokio::test]
async fn names_are_capped() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for address in [gateway.lookup, gateway.control] {
        let connection = Connection::open(&deployment.target(address, &deployment.probe)).await.unwrap();
        for (length, check, watched) in [(1000, "NOT_FOUND", true), (1100, "INVALID_ARGUMENT INVALID_REQUEST", false)] {
            let name = "n".repeat(length);
            let answer = connection.send(Request::health_check(&name).token(&deployment.probe.token), BOUND).await;
            assert_eq!(answer.ending(), check, "{length}");
            let mut watch = connection.begin(Request::health_watch(&name).token(&deployment.probe.token)).await;
            let answer = watch.messages(1, if watched { BOUND } else { Duration::from_secs(5) }).await;
            if watched {
                assert_eq!(answer.serving(), [ServiceUnknown]);
            } else {
                assert_eq!(answer.ending(), "INVALID_ARGUMENT INVALID_REQUEST");
            }
        }
    }
}
