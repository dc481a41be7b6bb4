//! The example registrars: right, wrong and changed passwords, packets that are lost and that come twice, a gateway that
//! is restarted in the middle. The literal counts are run by `scripts/soak registrars`.

use std::collections::HashMap;

use credgate_support::{
    canary::Canary,
    deployment::Deployment,
    process::Process,
    registrars::{Example, Running},
    scripted::Behaviour,
};
use serde_json::Value;

use crate::ground::{BOUND, Place};

const NODES: usize = 40;
const ROUNDS: &str = "5";

/// The summary of nodes that have ended as they should.
async fn summary(nodes: &Process) -> HashMap<String, u64> {
    let ended = nodes.ended(BOUND).await;
    let (said, complaint) = (nodes.stdout.whole(BOUND), nodes.log.whole(BOUND));
    assert_eq!(ended.code, Some(0), "{said}{complaint}");
    let summary: HashMap<String, Value> = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    summary.into_iter().map(|(name, count)| (name, count.as_u64().unwrap())).collect()
}

async fn restarted_in_the_middle(example: Example, more: &[&str]) -> HashMap<String, u64> {
    let mut deployment = Deployment::mtls().with_nodes(NODES).with_scripted(64);
    let mut place = Place::start(&mut deployment).await;
    let arguments = ["--mode", "central_first", "--ttl", "1"];
    let running = example.start(&deployment, &deployment.registrar, &[place.lookup], &arguments).await;
    let arguments = [&["--rounds", ROUNDS, "--wrong-every", "6", "--pause", "0.3"], more].concat();
    let nodes = running.nodes(&deployment, deployment.nodes.iter(), &arguments);
    nodes.stdout.seen(0, |line| line.text == "half", BOUND).await;
    place.stop().await;
    // A node that nobody has asked for yet finds out that the gateway is away.
    let other = running.nodes(&deployment, [("1000", "any")], &["--pause", "0.3", "--wrong-every", "1"]);
    running.process.stdout.seen(0, |line| line.text.starts_with("unavailable 1000 "), BOUND).await;
    place.boot(&mut deployment).await;
    assert!(summary(&other).await.keys().any(|name| name.starts_with("tried again")));
    let summary = summary(&nodes).await;
    Canary::new(deployment.secrets()).absent_from("what it says", &running.process.stdout.text());
    Canary::new(deployment.secrets()).absent_from("its complaints", &running.process.log.text());
    summary
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn iax2_through_a_bad_network_while_the_gateway_is_restarted() {
    let network = ["--loss", "0.05", "--twice", "0.05", "--repeat", "0.3"];
    let summary = restarted_in_the_middle(Example::Iax, &network).await;
    assert_eq!(summary["registrations"], 200);
    assert_eq!(summary["right: REGACK"] + summary["wrong: REGREJ"], 200, "{summary:?}");
    assert!(summary["packets lost"] > 0 && summary["packets doubled"] > 0, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_while_the_gateway_is_restarted() {
    let summary = restarted_in_the_middle(Example::Http, &[]).await;
    assert_eq!(summary["right: 200"] + summary["wrong: 401"], 200, "{summary:?}");
}

/// A registrar with everything cached, and one node that registers once with each of these passwords.
struct One {
    deployment: Deployment,
    place: Place,
    running: Running,
}

impl One {
    async fn start(example: Example, more: &[&str]) -> Self {
        let mut deployment = Deployment::mtls().with_scripted(8);
        let place = Place::start(&mut deployment).await;
        let running = example.start(&deployment, &deployment.registrar, &[place.lookup], more).await;
        Self { deployment, place, running }
    }

    /// Whether the node is accepted; anything else than a clear yes or no fails the test.
    async fn registers(&self, node: &str, password: &str, more: &[&str]) -> bool {
        let nodes = self.running.nodes(&self.deployment, [(node, password)], more);
        nodes.ended(BOUND).await;
        let said = nodes.stdout.whole(BOUND);
        let yes = ["right: REGACK", "right: 200"].iter().any(|word| said.contains(word));
        let no = ["right: REGREJ", "right: 401"].iter().any(|word| said.contains(word));
        assert!(yes != no && !said.contains("tried again"), "{said}");
        yes
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_password_works_at_once_and_the_old_one_no_longer() {
    for example in [Example::Iax, Example::Http] {
        let one = One::start(example, &[]).await;
        let old = one.deployment.nodes.password("2000").to_owned();
        assert!(one.registers("2000", &old, &[]).await);
        one.place.tell("2000", &Behaviour::password("changed")).await;
        assert!(one.registers("2000", "changed", &[]).await, "{example:?}");
        assert!(!one.registers("2000", &old, &[]).await, "{example:?}");
        one.place.tell("2001", &Behaviour::None).await;
        assert!(!one.registers("2001", one.deployment.nodes.password("2001"), &[]).await, "disabled");
        assert!(!one.registers("1999", "any", &[]).await, "unknown");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn iax2_asks_once_a_registration_however_often_its_packets_come() {
    let one = One::start(Example::Iax, &["--ttl", "0"]).await;
    let password = one.deployment.nodes.password("2000").to_owned();
    for registration in 1..=5 {
        assert!(one.registers("2000", &password, &["--twice", "1"]).await);
        assert_eq!(one.place.asked().await, registration);
    }
    // Longer than a node ID can be: not even asked, and refused in the same words.
    assert!(!one.registers("12345678901", "any", &["--twice", "1"]).await);
    assert_eq!(one.place.asked().await, 5);
}
