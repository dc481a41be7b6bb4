//! S9: `docs/rotation.md`, executed step by step with two replicas and a registrar that never stops asking.

use std::fs;

use credgate_support::{
    deployment::{Deployment, Identity, SERVER_NAME},
    grpc::Client,
    metrics,
    pki::{Ca, Issued, Leaf, Token},
    process::Process,
    rawh2::{Connection, Request},
};
use toml::Value;

use crate::{
    ground::BOUND,
    replicas::{Pair, Registrar, Replica},
};

/// The page's steps in their order, which the test must take one by one.
struct Runbook(Vec<&'static str>);

impl Runbook {
    fn section(title: &str) -> Self {
        let page = include_str!("../../../../docs/rotation.md");
        let (_, section) = page.split_once(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no {title}"));
        let section = section.split("\n## ").next().unwrap();
        let steps = section.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        Self(steps.map(|line| line.split("**").nth(1).unwrap()).rev().collect())
    }

    /// The next step is this one.
    fn step(&mut self, title: &str) {
        assert_eq!(self.0.pop(), Some(title));
    }

    fn end(self) {
        assert_eq!(self.0, Vec::<&str>::new(), "steps that were not taken");
    }
}

struct Site {
    deployment: Deployment,
    replicas: [Replica; 2],
}

impl Site {
    fn start() -> Self {
        let mut deployment = Deployment::mtls();
        let replicas = [Replica::start(&mut deployment), Replica::start(&mut deployment)];
        Self { deployment, replicas }
    }

    fn pair(&self, identity: &Identity) -> Pair {
        Pair::new([0, 1].map(|one| self.deployment.endpoint(self.replicas[one].lookup, identity)))
    }

    /// One after the other, behind readiness as the probe of that moment sees it.
    async fn restart_each(&mut self, probe: &Identity, registrar: &Registrar) {
        for replica in &mut self.replicas {
            replica.restart(&mut self.deployment).await;
            assert_eq!(probed(&self.deployment, replica, probe), (Some(0), String::new()));
            registrar.settled().await;
        }
    }

    fn set(&mut self, identity: usize, key: &str, values: &[&str]) {
        let values: Vec<Value> = values.iter().map(|value| (*value).into()).collect();
        self.deployment.config.set(&format!("identity.{identity}.{key}"), values);
    }

    /// How often a gateway has refused a caller since its start.
    async fn refused(&self) -> f64 {
        let mut sum = 0.0;
        for replica in &self.replicas {
            let page = metrics::scrape(replica.gateway().metrics.unwrap()).await;
            sum += page.sum("credgate_rpcs_total", &[("code", "UNAUTHENTICATED")]);
        }
        sum
    }
}

/// Exit code and message of `credgate-probe readiness`.
fn probed(deployment: &Deployment, replica: &Replica, identity: &Identity) -> (Option<i32>, String) {
    let mut command = deployment.probe_command("readiness", replica.control, identity);
    command.args(["--server-name", SERVER_NAME, "--timeout", "20s"]);
    let ended = tokio::task::block_in_place(|| Process::run(command, BOUND));
    (ended.exit.code, ended.stderr)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_registrars_and_probes_rotate_unnoticed() {
    let mut runbook = Runbook::section("Tokens");
    let mut site = Site::start();
    let (old, old_probe) = (site.deployment.registrar.clone(), site.deployment.probe.clone());
    let registrar = Registrar::begin(site.pair(&old), "2000");
    let kept = Client::open(&site.deployment, site.replicas[0].lookup, &old).await;
    kept.lookup("2000").await.unwrap();

    runbook.step("Make the new tokens.");
    let (new, new_probe) = (old.with_token(Token::random()), old_probe.with_token(Token::random()));
    // What the page warns of: a probe that has the new token before its gateway.
    let (code, message) = probed(&site.deployment, &site.replicas[0], &new_probe);
    assert!(code == Some(1) && message.contains("auth: UNAUTHENTICATED"), "{message}");
    assert_eq!(probed(&site.deployment, &site.replicas[0], &old_probe).0, Some(0));

    runbook.step("Add their digests beside the old ones.");
    site.set(0, "token_sha256", &[&old.token.digest(), &new.token.digest()]);
    site.set(1, "token_sha256", &[&old_probe.token.digest(), &new_probe.token.digest()]);

    runbook.step("Restart each gateway.");
    site.restart_each(&old_probe, &registrar).await;

    runbook.step("Move the clients and the probes to the new tokens.");
    registrar.migrate(site.pair(&new));
    registrar.more(20).await;
    for replica in &site.replicas {
        for probe in [&old_probe, &new_probe] {
            assert_eq!(probed(&site.deployment, replica, probe).0, Some(0), "both are good for now");
        }
    }
    assert_eq!(site.refused().await, 0.0);
    let kept_by_old = Client::open(&site.deployment, site.replicas[1].lookup, &old).await;
    kept_by_old.lookup("2000").await.unwrap();

    runbook.step("Remove the old digests.");
    site.set(0, "token_sha256", &[&new.token.digest()]);
    site.set(1, "token_sha256", &[&new_probe.token.digest()]);

    runbook.step("Restart each gateway again.");
    site.restart_each(&new_probe, &registrar).await;
    assert_eq!(site.refused().await, 0.0);
    registrar.end(site.deployment.nodes.password("2000"));

    runbook.step("See the old tokens fail.");
    for replica in &site.replicas {
        // On connections that exist, and where the old token was never good: the same connection with each of them.
        let target = site.deployment.target(replica.lookup, &old);
        let connection = Connection::open(&target).await.unwrap();
        for (identity, ending) in [(&new, "OK"), (&old, "UNAUTHENTICATED"), (&new, "OK")] {
            let request = Request::lookup("2000").token(&identity.token);
            assert_eq!(connection.send(request, BOUND).await.ending(), ending);
        }
        let (code, message) = probed(&site.deployment, replica, &old_probe);
        assert!(code == Some(1) && message.contains("auth: UNAUTHENTICATED"), "{message}");
    }
    // Connections from before the restart have gone with the gateways that served them.
    for client in [kept, kept_by_old] {
        client.lookup("2000").await.unwrap_err();
    }
    assert!(site.refused().await >= 4.0);
    runbook.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_their_authority_rotate_unnoticed() {
    let mut runbook = Runbook::section("Certificates and their CA");
    let mut site = Site::start();
    let (old, old_probe) = (site.deployment.registrar.clone(), site.deployment.probe.clone());
    let ca = site.deployment.path("ca.pem");
    let old_ca = fs::read_to_string(&ca).unwrap();
    let new_ca = Ca::new("the next CA");
    let registrar = Registrar::begin(site.pair(&old), "2000");

    runbook.step("Let everybody trust both CAs.");
    fs::write(&ca, format!("{old_ca}{}", new_ca.pem())).unwrap();
    registrar.migrate(site.pair(&old));

    runbook.step("Add the new SANs beside the old ones.");
    site.set(0, "san", &[old.san.as_ref().unwrap(), "registrar-east.example.org"]);
    site.set(1, "san", &[old_probe.san.as_ref().unwrap(), "probe.example.org"]);

    runbook.step("Restart each gateway.");
    site.restart_each(&old_probe, &registrar).await;

    runbook.step("Give the gateways certificates of the new CA, and restart each.");
    let leaf = Leaf::server().dns("localhost").ip([127, 0, 0, 1]);
    new_ca.issue(&leaf).write(site.deployment.dir(), "server");
    site.restart_each(&old_probe, &registrar).await;

    runbook.step("Move the clients and the probes to certificates of the new CA.");
    let issued = |san: &str| -> Option<Issued> { Some(new_ca.issue(&Leaf::client().dns(san))) };
    let new = old.with_certificate(issued("registrar-east.example.org"));
    let new_probe = old_probe.with_certificate(issued("probe.example.org"));
    registrar.migrate(site.pair(&new));
    registrar.more(20).await;
    for probe in [&old_probe, &new_probe] {
        assert_eq!(probed(&site.deployment, &site.replicas[0], probe).0, Some(0));
    }

    runbook.step("Remove the old CA and the old SANs, and restart each gateway.");
    fs::write(&ca, new_ca.pem()).unwrap();
    site.set(0, "san", &["registrar-east.example.org"]);
    site.set(1, "san", &["probe.example.org"]);
    registrar.migrate(site.pair(&new));
    site.restart_each(&new_probe, &registrar).await;
    assert_eq!(site.refused().await, 0.0);
    registrar.end(site.deployment.nodes.password("2000"));

    runbook.step("See the old certificates fail.");
    let of_new_ca = |san: &str| old.with_certificate(issued(san));
    for replica in &site.replicas {
        let (code, message) = probed(&site.deployment, replica, &old_probe);
        assert!(code == Some(1) && message.contains("tls: "), "{message}");
        // The old name alone, under the new CA.
        let (code, message) = probed(&site.deployment, replica, &of_new_ca(old.san.as_ref().unwrap()));
        assert!(code == Some(1) && message.contains("auth: UNAUTHENTICATED"), "{message}");
    }
    runbook.end();
}
