//! Gateways with a scripted store at loopback addresses of their own, where they can be stopped and started again.

use std::{
    net::{IpAddr, SocketAddr},
    process,
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use credgate_support::{
    deployment::Deployment,
    process::Gateway,
    scripted::{Behaviour, Script},
};

/// Nothing takes longer on a machine that is busy with other tests; a test that meets this bound fails.
pub const BOUND: Duration = Duration::from_secs(60);

/// A loopback address of its own: nobody else can take a port there while a gateway is away.
pub fn place() -> IpAddr {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let [.., a, b] = process::id().to_be_bytes();
    IpAddr::from([127, 64 | (a & 0x3f), b, NUMBER.fetch_add(1, Ordering::Relaxed)])
}

/// A gateway's place, and the gateway while it runs.
pub struct Place {
    pub lookup: SocketAddr,
    control: SocketAddr,
    running: Option<(Gateway, Script)>,
    /// Lookups of gateways that have ended.
    asked: u64,
}

impl Place {
    pub async fn start(deployment: &mut Deployment) -> Self {
        let place = place();
        let mut place = Self { lookup: (place, 7443).into(), control: (place, 7444).into(), running: None, asked: 0 };
        place.boot(deployment).await;
        place
    }

    /// Starts it with what the deployment says now.
    pub async fn boot(&mut self, deployment: &mut Deployment) {
        for (key, address) in [("lookup.listen", self.lookup), ("control.listen", self.control)] {
            deployment.config.set(key, address.to_string());
        }
        let process = deployment.spawn_scripted();
        let ready = tokio::task::spawn_blocking(move || {
            let script = Script::of(&process);
            (Gateway::ready(process), script)
        });
        self.running = Some(ready.await.unwrap());
    }

    /// Stops it in an orderly way.
    pub async fn stop(&mut self) {
        let (gateway, script) = self.running.take().unwrap();
        self.asked += script.counts().await.started;
        gateway.terminate();
        assert_eq!(gateway.ended(BOUND).await.code, Some(0), "{}", gateway.log.tail());
    }

    /// The process there now.
    pub fn gateway(&self) -> &Gateway {
        &self.running.as_ref().unwrap().0
    }

    /// Tells the store of the gateway there now, if there is one.
    pub async fn tell(&self, node: &str, behaviour: &Behaviour) {
        if let Some((_, script)) = &self.running {
            script.node(node, behaviour.clone()).await;
        }
    }

    /// Lookups that have reached the stores here.
    pub async fn asked(&self) -> u64 {
        match &self.running {
            Some((_, script)) => self.asked + script.counts().await.started,
            None => self.asked,
        }
    }
}
