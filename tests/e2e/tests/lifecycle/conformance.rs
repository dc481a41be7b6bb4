//! The health table: every name in every state of a gateway, by Check and by Watch.

use credgate_client::ServingStatus::{self, NotServing, ServiceUnknown, Serving};
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Process, address},
    scripted::{Behaviour, CheckBehaviour, Script},
};

use crate::ground::{BOUND, phase, registrar};

/// What readiness, startup and liveness say.
struct Row {
    readiness: ServingStatus,
    startup: ServingStatus,
    liveness: ServingStatus,
}

const STARTING: Row = Row { readiness: NotServing, startup: NotServing, liveness: Serving };
const READY: Row = Row { readiness: Serving, startup: Serving, liveness: Serving };
/// The store is lost, every slot is stuck, or the gateway is on its way out.
const UNREADY: Row = Row { readiness: NotServing, startup: Serving, liveness: Serving };

impl Row {
    fn names(&self) -> [(&'static str, ServingStatus); 5] {
        [
            ("", self.readiness),
            ("readiness", self.readiness),
            ("credgate.v1.CredentialService", self.readiness),
            ("startup", self.startup),
            ("liveness", self.liveness),
        ]
    }

    /// Asks for every name in both ways.
    async fn fits(&self, client: &Client, state: &str) {
        for (name, status) in self.names() {
            assert_eq!(client.check(name).await, Ok(status), "{state}, Check {name:?}");
            let mut watch = client.watch(name).await.unwrap();
            assert_eq!(watch.next(BOUND).await, Ok(Some(status)), "{state}, Watch {name:?}");
        }
        assert_eq!(client.check("nobody").await.unwrap_err(), "NOT_FOUND", "{state}");
        let mut watch = client.watch("nobody").await.unwrap();
        assert_eq!(watch.next(BOUND).await, Ok(Some(ServiceUnknown)), "{state}");
    }
}

fn deployment() -> Deployment {
    Deployment::mtls()
        .with_scripted(1)
        .merge("[lookup]\ntimeout = \"200ms\"\nqueue = 0\n[shutdown]\nlame_duck = \"50s\"\ndrain_timeout = \"50s\"")
        .merge("[health]\ninterval = \"100ms\"\ntimeout = \"500ms\"\nmax_age = \"5s\"\nstuck_after = \"100ms\"")
}

async fn far(deployment: &Deployment, process: &Process) -> Client {
    Client::open(deployment, address(process, "control"), &deployment.probe).await
}

async fn becomes(client: &Client, status: ServingStatus) {
    client.watch("readiness").await.unwrap().until(status, BOUND).await;
}

#[tokio::test]
async fn starting() {
    let deployment = deployment().set("provider.scripted.open", "hang");
    let process = deployment.spawn_scripted();
    STARTING.fits(&far(&deployment, &process).await, "opening").await;

    let check = vec![r#"{"op":"check","behaviour":{"do":"hang"}}"#];
    let deployment = Deployment::mtls()
        .with_scripted(1)
        .merge("[health]\ntimeout = \"10m\"\nmax_age = \"20m\"")
        .set("provider.scripted.script", check);
    let process = deployment.spawn_scripted();
    Script::of(&process).wait_for(|counts| counts.checks == 1, BOUND).await;
    STARTING.fits(&far(&deployment, &process).await, "first check").await;
}

#[tokio::test]
async fn serving_without_its_store_and_stuck() {
    let deployment = deployment();
    let (gateway, script) = deployment.start_scripted().await;
    let clients: [Client; 2] = [registrar(&deployment, &gateway).await, far(&deployment, &gateway).await];
    let all = async |row: &Row, state| {
        for client in &clients {
            becomes(client, row.readiness).await;
            row.fits(client, state).await;
        }
    };
    all(&READY, "serving").await;
    for trouble in [CheckBehaviour::Fail, CheckBehaviour::Hang] {
        script.check(trouble).await;
        all(&UNREADY, "without its store").await;
        script.check(CheckBehaviour::Ok).await;
        all(&READY, "with its store again").await;
    }
    script.node("1999", Behaviour::Hold).await;
    clients[0].lookup("1999").await.unwrap_err();
    all(&UNREADY, "stuck").await;
    script.release_all().await;
    all(&READY, "healed").await;
}

#[tokio::test]
async fn on_its_way_out() {
    let deployment = deployment();
    let (gateway, _) = deployment.start_scripted().await;
    let clients: [Client; 2] = [registrar(&deployment, &gateway).await, far(&deployment, &gateway).await];
    gateway.terminate();
    phase(&gateway, "lame_duck").await;
    for client in &clients {
        UNREADY.fits(client, "lame duck").await;
    }
}

/// The lookup listener has closed, the control listener answers on.
#[tokio::test]
async fn draining() {
    let deployment = deployment().set("lookup.timeout", "50s").set("shutdown.lame_duck", "0s");
    let (gateway, script) = deployment.start_scripted().await;
    script.node("1999", Behaviour::Hold).await;
    let client = registrar(&deployment, &gateway).await;
    let lookup = tokio::spawn(async move { client.lookup("1999").await });
    script.wait_for(|counts| counts.held == 1, BOUND).await;
    gateway.terminate();
    phase(&gateway, "draining").await;
    UNREADY.fits(&far(&deployment, &gateway).await, "draining").await;
    script.release_all().await;
    assert_eq!(lookup.await.unwrap().unwrap_err(), "NOT_FOUND NODE_NOT_FOUND");
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}
