//! Everything that a metric could wrongly take for a label: many nodes, methods that do not exist, tokens that nobody has.

use futures::{StreamExt as _, stream};

use crate::{
    deployment::{Deployment, Identity},
    pki::Token,
    process::Gateway,
    rawh2::{Connection, Request},
};

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// Distinct nodes that are looked up.
    pub nodes: usize,
    /// Distinct methods.
    pub methods: usize,
    /// Distinct tokens.
    pub tokens: usize,
}

/// Calls under way at once.
const OUTSTANDING: usize = 32;

/// Fewer than `failed_authentications`, so that no connection is closed under a call.
const PER_CONNECTION: usize = 7;

impl Flood {
    /// Sends it, and asserts that each call ended as it must.
    pub async fn send(self, deployment: &Deployment, gateway: &Gateway) {
        let registrar = &deployment.registrar;
        let connection = open(deployment, gateway, registrar).await;
        let lookups = (0..self.nodes).map(|node| Request::lookup(&(1_000_000 + node).to_string()));
        all_end(&connection, lookups.map(|request| request.token(&registrar.token)), "NOT_FOUND NODE_NOT_FOUND").await;
        let calls = (0..self.methods).map(|number| Request::to(&format!("/bogus.Service{number}/Method{number}")));
        all_end(&connection, calls.map(|request| request.message(b"").token(&registrar.token)), "UNIMPLEMENTED").await;
        for from in (0..self.tokens).step_by(PER_CONNECTION) {
            let connection = open(deployment, gateway, registrar).await;
            let calls = (from..self.tokens.min(from + PER_CONNECTION)).map(|number| {
                let node = Request::lookup(&number.to_string());
                node.token(&Token::random())
            });
            all_end(&connection, calls, "UNAUTHENTICATED").await;
        }
    }
}

async fn open(deployment: &Deployment, gateway: &Gateway, identity: &Identity) -> Connection {
    Connection::open(&deployment.target(gateway.lookup, identity)).await.unwrap()
}

async fn all_end(connection: &Connection, requests: impl Iterator<Item = Request>, ending: &str) {
    let mut answers = stream::iter(requests)
        .map(|request| connection.send(request, crate::grpc::Client::BOUND))
        .buffer_unordered(OUTSTANDING);
    while let Some(answer) = answers.next().await {
        assert_eq!(answer.ending(), ending, "{answer:?}");
    }
}
