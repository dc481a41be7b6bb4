//! Gateways that are stopped and started again at the same place, and a registrar that asks two of them.

use std::{
    net::{IpAddr, SocketAddr},
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use credgate_client::{Client, Endpoint, LookupError};
use credgate_support::{deployment::Deployment, process::Gateway};
use tokio::task::JoinHandle;

use crate::ground::BOUND;

/// A loopback address of its own: nobody else can take the port while the gateway is away.
pub fn place() -> IpAddr {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let [.., a, b] = process::id().to_be_bytes();
    IpAddr::from([127, 128 | a, b, NUMBER.fetch_add(1, Ordering::Relaxed)])
}

/// One of the gateways: its place, and the process there now.
pub struct Replica {
    pub lookup: SocketAddr,
    pub control: SocketAddr,
    gateway: Option<Gateway>,
}

impl Replica {
    /// Starts a gateway of this deployment at a new place.
    pub fn start(deployment: &mut Deployment) -> Self {
        let place = place();
        let mut replica = Self { lookup: (place, 7443).into(), control: (place, 7444).into(), gateway: None };
        replica.boot(deployment);
        replica
    }

    /// Stops it in an orderly way and starts it with what the deployment says now.
    pub async fn restart(&mut self, deployment: &mut Deployment) {
        let gateway = self.gateway.take().unwrap();
        gateway.terminate();
        assert_eq!(gateway.ended(BOUND).await.code, Some(0), "{}", gateway.log.tail());
        tokio::task::block_in_place(|| self.boot(deployment));
    }

    fn boot(&mut self, deployment: &mut Deployment) {
        for (key, address) in [("lookup.listen", self.lookup), ("control.listen", self.control)] {
            deployment.config.set(key, address.to_string());
        }
        self.gateway = Some(deployment.start());
    }

    /// The process there now.
    pub fn gateway(&self) -> &Gateway {
        self.gateway.as_ref().unwrap()
    }
}

/// A registrar's way to ask: the first gateway, and the other one when that has no answer.
#[derive(Clone)]
pub struct Pair([Client; 2]);

/// What a lookup came to.
#[derive(Debug)]
pub struct Asked {
    /// The answer, after at most one retry.
    pub answer: Result<String, LookupError>,
    /// What made the retry necessary.
    pub first: Option<LookupError>,
}

impl Pair {
    pub fn new(endpoints: [Endpoint; 2]) -> Self {
        Self(endpoints.map(Client::new))
    }

    pub async fn ask(&self, node: &str, first: usize) -> Asked {
        let ask = async |client: &Client| client.lookup(node, BOUND).await.map(|found| found.expose().to_owned());
        match ask(&self.0[first % 2]).await {
            Err(error) => Asked { answer: ask(&self.0[(first + 1) % 2]).await, first: Some(error) },
            answer => Asked { answer, first: None },
        }
    }
}

/// A registrar that looks one node up all the time, beginning with either gateway in turn.
pub struct Registrar {
    pair: Arc<Mutex<Pair>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Registrar {
    pub fn begin(pair: Pair, node: &'static str) -> Self {
        let (pair, asked) = (Arc::new(Mutex::new(pair)), Arc::<Mutex<Vec<Asked>>>::default());
        let (now, told) = (Arc::clone(&pair), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            for turn in 0.. {
                ticks.tick().await;
                let pair = now.lock().unwrap().clone();
                let asked = pair.ask(node, turn).await;
                told.lock().unwrap().push(asked);
            }
        });
        Self { pair, asked, task }
    }

    /// Takes other credentials from now on.
    pub fn migrate(&self, pair: Pair) {
        *self.pair.lock().unwrap() = pair;
    }

    /// Waits until so many more lookups have been answered.
    pub async fn more(&self, count: usize) {
        let wanted = self.asked.lock().unwrap().len() + count;
        self.until(|asked| asked.len() >= wanted).await;
    }

    /// Waits until both gateways answer it again: a client holds a failed dial against a gateway for up to a second.
    pub async fn settled(&self) {
        let seen = self.asked.lock().unwrap().len();
        self.until(|asked| asked.len() >= seen + 10 && asked.iter().rev().take(10).all(|one| one.first.is_none()))
            .await;
    }

    async fn until(&self, fits: impl Fn(&[Asked]) -> bool) {
        let answered = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            while !fits(&self.asked.lock().unwrap()) {
                ticks.tick().await;
            }
        };
        tokio::time::timeout(BOUND, answered).await.unwrap();
    }

    /// Asserts that every lookup found this password, whatever the first gateway said, and that nothing but a restart
    /// made a retry necessary.
    pub fn end(self, password: &str) {
        self.task.abort();
        let asked = self.asked.lock().unwrap();
        assert!(asked.len() > 20, "{} lookups", asked.len());
        for Asked { answer, first } in asked.iter() {
            assert!(matches!(answer, Ok(found) if found == password), "{answer:?}, after {first:?}");
            let restart = match first {
                None | Some(LookupError::Dial(_) | LookupError::Disconnected) => true,
                Some(LookupError::Unavailable { reason }) => reason.as_str() == Some("DRAINING"),
                Some(_) => false,
            };
            assert!(restart, "{first:?}");
        }
    }
}
