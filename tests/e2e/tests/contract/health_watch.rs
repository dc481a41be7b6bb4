//! Bounds of Watch: how many, of whom, how long.

use std::time::Duration;

use credgate_client::ServingStatus::Serving;
use credgate_support::{
    deployment::{Deployment, Identity},
    grpc::{Client, Watch},
};
use tokio::time::{Instant, sleep};

use crate::ground::{BOUND, reaches};

async fn open(client: &Client) -> Result<Watch, String> {
    let mut watch = client.watch("readiness").await?;
    assert_eq!(watch.next(BOUND).await, Ok(Some(Serving)));
    Ok(watch)
}

/// A place comes free when the gateway has seen the reset.
async fn open_soon(client: &Client) -> Watch {
    let begin = Instant::now();
    loop {
        match open(client).await {
            Ok(watch) => return watch,
            Err(error) => assert!(begin.elapsed() < BOUND, "{error}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn one_watch_more_than_there_may_be_is_refused() {
    let deployment = Deployment::mtls().set("health.watches", 3);
    let gateway = deployment.start();
    for address in [gateway.lookup, gateway.control] {
        let clients: [Client; 2] = [
            Client::open(&deployment, address, &deployment.registrar).await,
            Client::open(&deployment, address, &deployment.probe).await,
        ];
        let mut watches = Vec::new();
        for client in [&clients[0], &clients[1], &clients[0]] {
            watches.push(open(client).await.unwrap());
        }
        for client in &clients {
            assert_eq!(open(client).await.unwrap_err(), "RESOURCE_EXHAUSTED");
            assert_eq!(client.check("readiness").await, Ok(Serving), "Check has nothing to do with it");
        }
        watches.pop();
        watches.push(open_soon(&clients[1]).await);
    }
    reaches(&gateway, "credgate_rpcs_total", &[("method", "Watch"), ("code", "RESOURCE_EXHAUSTED")], 4.0).await;
}

#[tokio::test]
async fn an_identity_cannot_take_the_places_of_others() {
    let deployment = Deployment::mtls().set("health.watches", 10).set("health.watches_per_identity", 2);
    let gateway = deployment.start();
    let client = async |identity: &Identity| Client::open(&deployment, gateway.control, identity).await;
    let (one, again, other) =
        (client(&deployment.probe).await, client(&deployment.probe).await, client(&deployment.registrar).await);
    let _kept = [open(&one).await.unwrap(), open(&again).await.unwrap()];
    assert_eq!(open(&one).await.unwrap_err(), "RESOURCE_EXHAUSTED");
    open(&other).await.unwrap();
}

#[tokio::test]
async fn a_watch_ends_with_ok_when_it_is_old() {
    let deployment = Deployment::mtls().set("health.watch_max_age", "1s");
    let gateway = deployment.start();
    for address in [gateway.lookup, gateway.control] {
        let client = Client::open(&deployment, address, &deployment.probe).await;
        let mut watch = open(&client).await.unwrap();
        assert_eq!(watch.next(BOUND).await, Ok(None));
        open(&client).await.unwrap();
    }
}
