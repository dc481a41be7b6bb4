//! The example registrars with 500 nodes that register ten times each, while the gateway is restarted in the middle: every
//! right password is accepted in the end, and no wrong one ever is.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use credgate_support::{deployment::Deployment, registrars::Example};
use tokio::task::block_in_place;

use crate::load::{self, BOUND};

const NODES: usize = 500;

/// All registrations, attempts that are tried again included.
const ALL: Duration = Duration::from_mins(5);

/// An address that nobody takes while the gateway is away.
const PLACE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 99, 0, 3));

pub fn run() {
    println!("{NODES} nodes register ten times each, every seventh time with a wrong password, through a restart:\n");
    println!("| registrar | summary of the nodes |\n|---|---|");
    load::run(async {
        restarted_in_the_middle(Example::Iax, &["--loss", "0.05", "--twice", "0.05", "--repeat", "0.3"]).await;
        restarted_in_the_middle(Example::Http, &[]).await;
    });
}

async fn restarted_in_the_middle(example: Example, more: &[&str]) {
    let deployment = Deployment::mtls()
        .with_nodes(NODES)
        .set("lookup.listen", format!("{PLACE}:7443"))
        .set("control.listen", format!("{PLACE}:7444"));
    let gateway = block_in_place(|| deployment.start());
    let arguments = ["--mode", "central_first", "--ttl", "2"];
    let registrar = example.start(&deployment, &deployment.registrar, &[gateway.lookup], &arguments).await;
    let arguments = [&["--rounds", "10", "--wrong-every", "7", "--pause", "1"], more].concat();
    let nodes = registrar.nodes(&deployment, deployment.nodes.iter(), &arguments);
    nodes.stdout.seen(0, |line| line.text == "half", ALL).await;
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    let gateway = block_in_place(|| deployment.start());
    let ended = nodes.ended(ALL).await;
    let said = nodes.stdout.whole(BOUND);
    assert_eq!(ended.code, Some(0), "{said}{}", nodes.log.text());
    println!("| {example:?} | {} |", said.lines().last().unwrap_or_default());
    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
}
