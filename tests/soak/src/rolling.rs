//! Rolling restarts of two replicas under 500 lookups a second with `credgate-client`: every call answered right after at
//! most one retry, never NOT_FOUND or INTERNAL.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use credgate_client::{Client, Endpoint, LookupError, Settings};
use credgate_support::{
    deployment::{Deployment, SERVER_NAME},
    process::Gateway,
};
use tokio::{
    task::{JoinSet, block_in_place},
    time::{interval, sleep},
};

use crate::load::{self, BOUND};

const PER_SECOND: u32 = 500;
const ROUNDS: usize = 5;

/// Between readiness of one and the end of the other: longer than a client holds a failed dial against a gateway (1 s).
const PAUSE: Duration = Duration::from_secs(2);

/// Addresses that nobody takes while the gateway there is away.
const PLACES: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::new(127, 99, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::new(127, 99, 0, 2))];

pub fn run() {
    load::run(async {
        let mut deployment = Deployment::mtls();
        let mut gateways: Vec<Gateway> = PLACES.iter().map(|place| start(&mut deployment, *place)).collect();
        let clients = PLACES.map(|place| client(&deployment, (place, 7443).into()));
        let endings = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let password = deployment.nodes.password("2000").to_owned();
        let load = tokio::spawn(asking(clients, password, Arc::clone(&endings)));
        for _ in 0..ROUNDS {
            for (gateway, place) in gateways.iter_mut().zip(PLACES) {
                sleep(PAUSE).await;
                gateway.terminate();
                assert_eq!(gateway.ended(BOUND).await.code, Some(0));
                *gateway = block_in_place(|| start(&mut deployment, place));
            }
        }
        sleep(PAUSE).await;
        load.abort();
        println!("{} restarts under {PER_SECOND} lookups a second:\n", ROUNDS * PLACES.len());
        println!("| ending | lookups |\n|---|---|");
        let endings = endings.lock().unwrap().clone();
        endings.iter().for_each(|(ending, count)| println!("| {ending} | {count} |"));
        let wrong: Vec<_> = endings.keys().filter(|ending| !ending.starts_with("right")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    });
}

fn start(deployment: &mut Deployment, place: IpAddr) -> Gateway {
    deployment.config.set("lookup.listen", format!("{place}:7443"));
    deployment.config.set("control.listen", format!("{place}:7444"));
    deployment.start()
}

fn client(deployment: &Deployment, address: SocketAddr) -> Client {
    let files = deployment.registrar.files.as_ref().unwrap();
    let settings = Settings {
        address: address.to_string(),
        ca: Some(deployment.path("ca.pem")),
        cert: Some(files.cert.clone()),
        key: Some(files.key.clone()),
        server_name: Some(SERVER_NAME.into()),
        token_file: deployment.registrar.token_file.clone(),
        plaintext: false,
    };
    Client::new(Endpoint::prepare(&settings).unwrap())
}

/// Asks the replicas in turn, and the other one once when the first has no answer.
async fn asking(clients: [Client; 2], password: String, endings: Arc<Mutex<BTreeMap<String, usize>>>) {
    let (mut ticks, mut calls) = (interval(Duration::from_secs(1) / PER_SECOND), JoinSet::new());
    for turn in 0_usize.. {
        ticks.tick().await;
        while calls.try_join_next().is_some() {}
        let (clients, password, endings) = (clients.clone(), password.clone(), Arc::clone(&endings));
        calls.spawn(async move {
            let ending = match ask(&clients[turn % 2], &password).await {
                Ok(()) => "right at once".to_owned(),
                Err(Fault::Wrong(what)) => format!("wrong: {what}"),
                Err(Fault::Elsewhere(first)) => match ask(&clients[(turn + 1) % 2], &password).await {
                    Ok(()) => format!("right after one retry, because of: {first}"),
                    Err(Fault::Wrong(second) | Fault::Elsewhere(second)) => format!("wrong: {first}, then {second}"),
                },
            };
            *endings.lock().unwrap().entry(ending).or_default() += 1;
        });
    }
}

/// Why there is no right answer.
enum Fault {
    /// Another gateway may have it.
    Elsewhere(String),
    /// No restart is a reason for this.
    Wrong(String),
}

async fn ask(client: &Client, password: &str) -> Result<(), Fault> {
    match client.lookup("2000", Duration::from_secs(5)).await {
        Ok(found) if found.expose() == password => Ok(()),
        Ok(_) => Err(Fault::Wrong("another password".to_owned())),
        Err(error @ (LookupError::Dial(_) | LookupError::Disconnected | LookupError::Unavailable { .. })) => {
            Err(Fault::Elsewhere(error.to_string()))
        }
        Err(error) => Err(Fault::Wrong(error.to_string())),
    }
}
