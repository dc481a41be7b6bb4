//! The test's end of the line.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, timeout},
};

use super::{
    behaviour::{Behaviour, CheckBehaviour, CloseBehaviour, Request},
    state::Counts,
};
use crate::{
    deployment::Deployment,
    process::{Gateway, Process, address},
};

/// Tells a scripted provider what to do.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    address: SocketAddr,
}

impl Script {
    /// For a provider's control address.
    pub fn at(address: SocketAddr) -> Self {
        Self { address }
    }

    /// For a process of `credgate-scripted`, which need not be ready: its control address is waited for in its log.
    #[track_caller]
    pub fn of(process: &Process) -> Self {
        Self::at(address(process, "scripted"))
    }

    /// Lookups of nodes without a behaviour of their own.
    pub async fn default(&self, behaviour: Behaviour) -> Counts {
        self.send(Request::Default { behaviour }).await
    }

    /// Lookups of one node.
    pub async fn node(&self, node: &str, behaviour: Behaviour) -> Counts {
        self.send(Request::Node { node: node.into(), behaviour: Some(behaviour) }).await
    }

    /// Takes one node's own behaviour back.
    pub async fn forget(&self, node: &str) -> Counts {
        self.send(Request::Node { node: node.into(), behaviour: None }).await
    }

    /// Checks.
    pub async fn check(&self, behaviour: CheckBehaviour) -> Counts {
        self.send(Request::Check { behaviour }).await
    }

    /// Closing.
    pub async fn close(&self, behaviour: CloseBehaviour) -> Counts {
        self.send(Request::Close { behaviour }).await
    }

    /// Lets `count` held lookups go, also such that are yet to come.
    pub async fn release(&self, count: usize) -> Counts {
        self.send(Request::Release { count: Some(count) }).await
    }

    /// Lets every lookup go that is held now.
    pub async fn release_all(&self) -> Counts {
        self.send(Request::Release { count: None }).await
    }

    /// What the provider has done.
    pub async fn counts(&self) -> Counts {
        self.send(Request::Counts).await
    }

    /// Waits until the counts fit.
    pub async fn wait_for(&self, fits: impl Fn(&Counts) -> bool, bound: Duration) -> Counts {
        let end = Instant::now() + bound;
        let mut counts = self.counts().await;
        while !fits(&counts) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no counts as expected within {bound:?}; the last ones: {counts:?}");
            let within_ms = u64::try_from(left.as_millis()).unwrap() + 1;
            counts = self.send(Request::Changed { version: counts.version, within_ms }).await;
        }
        counts
    }

    /// One request, on a connection of its own.
    pub async fn send(&self, request: Request) -> Counts {
        let patience = match &request {
            Request::Changed { within_ms, .. } => Duration::from_millis(*within_ms) + BOUND,
            _ => BOUND,
        };
        let exchange = async {
            let mut stream = BufReader::new(TcpStream::connect(self.address).await?);
            let line = format!("{}\n", serde_json::to_string(&request)?);
            stream.write_all(line.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_line(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer = timeout(patience, exchange).await.unwrap_or_else(|_| panic!("{request:?}: no answer"));
        let answer = answer.unwrap_or_else(|error| panic!("{request:?}: {error}"));
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{request:?}: {error}: {answer}"))
    }
}

impl Deployment {
    /// Takes the scripted provider instead of the CSV file. It knows this deployment's nodes.
    pub fn with_scripted(mut self, slots: u32) -> Self {
        let nodes = self.nodes.iter().map(|(node, password)| (node.to_owned(), password.into()));
        let nodes: toml::Table = nodes.collect();
        self.config.remove("provider.csv");
        self.config.set("provider.kind", "scripted");
        self.config.set("provider.scripted.slots", slots);
        self.config.set("provider.scripted.nodes", nodes);
        self
    }

    /// Starts `credgate-scripted serve` and waits until it is ready.
    pub async fn start_scripted(&self) -> (Gateway, Script) {
        let process = self.spawn_scripted();
        let script = Script::of(&process);
        (Gateway::ready(process), script)
    }

    /// Starts `credgate-scripted serve` and waits for nothing.
    pub fn spawn_scripted(&self) -> Process {
        Process::start(self.command_of("credgate-scripted", ["serve"]))
    }
}

const BOUND: Duration = Duration::from_secs(10);
