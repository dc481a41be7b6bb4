//! `clients/scenarios.toml`, carried out with each client against real gateways. The vocabulary stands in that file.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use credgate_support::{
    deployment::{Deployment, Identity},
    metrics,
    pki::{Leaf, Token},
    scripted::Behaviour,
};
use futures::{StreamExt, future::join_all, stream};
use serde::Deserialize;

use crate::{
    ground::{BOUND, Place},
    subject::{Language, Question, Said, Setup, Subject},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust() {
    every_scenario(Language::Rust).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_with_threads() {
    every_scenario(Language::PythonThreads).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_with_asyncio() {
    every_scenario(Language::PythonAsyncio).await;
}

async fn every_scenario(language: Language) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/scenarios.toml");
    let table: Table = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(table.scenario.len() > 20);
    let runs = table.scenario.iter().map(|scenario| run(language, &table.defaults, scenario));
    // Some of them wait for a TTL; a few gateways at a time is what a small machine bears.
    let failures: Vec<String> =
        stream::iter(runs).buffer_unordered(4).filter_map(async |failure| failure).collect().await;
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    defaults: Defaults,
    scenario: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    mode: String,
    ttl: String,
    timeout: String,
    verify_interval: String,
    gateways: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    name: String,
    mode: Option<String>,
    ttl: Option<String>,
    timeout: Option<String>,
    verify_interval: Option<String>,
    gateways: Option<usize>,
    identity: Option<String>,
    gateway: Option<String>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Step {
    Get { get: String, is: String, why: Option<String>, password: Option<String>, timeout: Option<String> },
    VerifyFailed { verify_failed: String, is: String, why: Option<String>, password: Option<String> },
    Verify { verify: String, of: String, is: String, why: Option<String> },
    Until { until: String, is: String },
    Store { store: String, r#as: String },
    Storm { storm: String, callers: usize, impatient: usize },
    Asked { asked: u64 },
    Stop { stop: usize },
    Start { start: usize },
    Restart { restart: String },
}

/// One scenario under way.
struct Stage {
    deployment: Deployment,
    places: Vec<Place>,
    subject: Arc<Subject>,
    /// Passwords as the store has them now, where they are others than at the beginning.
    changed: HashMap<String, String>,
    asked: u64,
}

/// `None`, or what went otherwise.
async fn run(language: Language, defaults: &Defaults, scenario: &Scenario) -> Option<String> {
    let mut stage = Stage::new(language, defaults, scenario).await;
    for (number, step) in scenario.steps.iter().enumerate() {
        if let Err(seen) = stage.step(step).await {
            return Some(format!("{language:?}: {:?}, step {}: {step:?}: {seen}", scenario.name, number + 1));
        }
    }
    None
}

impl Stage {
    async fn new(language: Language, defaults: &Defaults, scenario: &Scenario) -> Self {
        let mut deployment = Deployment::mtls().with_scripted(64).set("lookup.timeout", "8s");
        if let Some(text) = &scenario.gateway {
            deployment = deployment.merge(text);
        }
        let mut places = Vec::new();
        for _ in 0..scenario.gateways.unwrap_or(defaults.gateways) {
            places.push(Place::start(&mut deployment).await);
        }
        let seconds = |own: &Option<String>, other: &str| duration(own.as_deref().unwrap_or(other)).as_secs_f64();
        let setup = Setup {
            mode: scenario.mode.clone().unwrap_or_else(|| defaults.mode.clone()),
            ttl: seconds(&scenario.ttl, &defaults.ttl),
            timeout: seconds(&scenario.timeout, &defaults.timeout),
            verify_interval: seconds(&scenario.verify_interval, &defaults.verify_interval),
        };
        let identity = identity(&deployment, scenario.identity.as_deref().unwrap_or("registrar"));
        let addresses: Vec<_> = places.iter().map(|place| place.lookup).collect();
        let subject = Arc::new(Subject::new(language, &deployment, &identity, &addresses, &setup).await);
        Self { deployment, places, subject, changed: HashMap::new(), asked: 0 }
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Get { get, is, why, password, timeout } => {
                let said = self.subject.ask(Question::Get, get, timeout.as_deref().map(duration)).await;
                self.judge(get, &said, is, why.as_deref(), password.as_deref())
            }
            Step::VerifyFailed { verify_failed, is, why, password } => {
                let said = self.subject.ask(Question::VerifyFailed, verify_failed, None).await;
                self.judge(verify_failed, &said, is, why.as_deref(), password.as_deref())
            }
            Step::Verify { verify, of, is, why } => {
                let given = self.password(of, Some(verify));
                let said = self.subject.ask(Question::Verify(&given), of, None).await;
                self.judge(of, &said, is, why.as_deref(), None)
            }
            Step::Until { until, is } => self.until(until, is).await,
            Step::Store { store, r#as } => {
                self.store(store, r#as).await;
                Ok(())
            }
            Step::Storm { storm, callers, impatient } => self.storm(storm, *callers, *impatient).await,
            Step::Asked { asked } => {
                let mut total = 0;
                for place in &self.places {
                    total += place.asked().await;
                }
                let since = total - std::mem::replace(&mut self.asked, total);
                if since == *asked { Ok(()) } else { Err(format!("{since} lookups")) }
            }
            Step::Stop { stop } => {
                self.places[*stop].stop().await;
                Ok(())
            }
            Step::Start { start } => {
                self.places[*start].boot(&mut self.deployment).await;
                Ok(())
            }
            Step::Restart { restart } => self.restart(restart).await,
        }
    }

    /// The password that stands for `word`; without one, the store's own.
    fn password(&self, node: &str, word: Option<&str>) -> String {
        let first = || self.deployment.nodes.ids().find(|id| *id == node).map(|id| self.deployment.nodes.password(id));
        match word {
            None | Some("right") => {
                self.changed.get(node).map(String::as_str).or_else(first).unwrap_or("none").to_owned()
            }
            Some("the old one") => first().unwrap().to_owned(),
            Some(other) => other.to_owned(),
        }
    }

    fn judge(
        &self,
        node: &str,
        said: &Said,
        is: &str,
        why: Option<&str>,
        password: Option<&str>,
    ) -> Result<(), String> {
        let wanted = ["credential", "cached"].contains(&is).then(|| self.password(node, password));
        let fits = said.is == is && said.password == wanted && (why.is_none() || said.why.as_deref() == why);
        if fits { Ok(()) } else { Err(format!("{said:?}, and the password is {wanted:?}")) }
    }

    async fn until(&self, node: &str, is: &str) -> Result<(), String> {
        let become_so = async {
            loop {
                let said = self.subject.ask(Question::Get, node, None).await;
                if said.is == is {
                    return said;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        let said = tokio::time::timeout(BOUND, become_so).await.map_err(|_| "never".to_owned())?;
        self.judge(node, &said, is, None, None)
    }

    async fn store(&mut self, node: &str, state: &str) {
        if state == "changed" {
            self.changed.insert(node.to_owned(), format!("changed-{node}"));
        }
        let password = Behaviour::password(&self.password(node, None));
        let behaviour = match state {
            "ok" | "changed" => password,
            "disabled" => Behaviour::None,
            "unavailable" => Behaviour::Unavailable,
            "corrupt" => Behaviour::Corrupt,
            "slow" => password.delayed(1500),
            other => panic!("no such state of a node: {other}"),
        };
        for place in &self.places {
            place.tell(node, &behaviour).await;
        }
    }

    async fn storm(&self, node: &str, callers: usize, impatient: usize) -> Result<(), String> {
        let limit = |caller| (caller < impatient).then_some(Duration::from_millis(50));
        let all = join_all((0..callers).map(|caller| self.subject.ask(Question::Get, node, limit(caller)))).await;
        for (caller, said) in all.iter().enumerate() {
            match limit(caller) {
                Some(_) => self.judge(node, said, "unavailable", Some("NO_ANSWER"), None)?,
                // A late one finds it in the cache.
                None => self
                    .judge(node, said, "credential", None, None)
                    .or_else(|_| self.judge(node, said, "cached", None, None))?,
            }
        }
        Ok(())
    }

    async fn restart(&mut self, node: &str) -> Result<(), String> {
        let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let (subject, over, count) = (Arc::clone(&self.subject), Arc::clone(&over), Arc::clone(&count));
                let node = node.to_owned();
                tokio::spawn(async move {
                    let mut others = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let said = subject.ask(Question::Get, &node, None).await;
                        count.fetch_add(1, Ordering::Relaxed);
                        if said.is != "credential" {
                            others.push(said);
                        }
                        tokio::time::sleep(POLL).await;
                    }
                    others
                })
            })
            .collect();
        for index in 0..self.places.len() {
            self.places[index].stop().await;
            self.places[index].boot(&mut self.deployment).await;
            let page = self.places[index].gateway().metrics.unwrap();
            let back = |page: &metrics::Metrics| page.sum("credgate_connections", &[("listener", "lookup")]) >= 1.0;
            metrics::wait_for(page, back, BOUND).await;
            let seen = count.load(Ordering::Relaxed);
            while count.load(Ordering::Relaxed) < seen + 20 {
                tokio::time::sleep(POLL).await;
            }
        }
        over.store(true, Ordering::Relaxed);
        let others: Vec<Said> = join_all(callers).await.into_iter().flat_map(Result::unwrap).collect();
        if others.is_empty() { Ok(()) } else { Err(format!("{others:?}, of {}", count.load(Ordering::Relaxed))) }
    }
}

fn identity(deployment: &Deployment, name: &str) -> Identity {
    let registrar = &deployment.registrar;
    match name {
        "registrar" => registrar.clone(),
        "probe" => deployment.probe.clone(),
        "wrong_token" => registrar.with_token(Token::random()),
        "expired_certificate" => {
            let leaf = Leaf::client().dns(registrar.san.as_deref().unwrap()).expired(Duration::from_mins(5));
            registrar.with_certificate(Some(deployment.ca.issue(&leaf)))
        }
        other => panic!("no such identity: {other}"),
    }
}

/// `300ms` or `4s`.
fn duration(text: &str) -> Duration {
    let number = |digits: &str| digits.parse().unwrap_or_else(|_| panic!("no time: {text}"));
    match text.strip_suffix("ms") {
        Some(digits) => Duration::from_millis(number(digits)),
        None => Duration::from_secs(number(text.trim_end_matches('s'))),
    }
}

/// Between two questions of somebody who asks over and over.
const POLL: Duration = Duration::from_millis(20);
