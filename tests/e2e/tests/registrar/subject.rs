//! A registrar's client, whichever language it is written in, and what it answers in one word.

use std::{net::SocketAddr, path::Path, time::Duration};

use credgate_client::{Answer, Credential, Mode, Password, Policy, Registrar};
use credgate_support::{
    deployment::{Deployment, Identity, SERVER_NAME},
    process::Process,
    python::Python,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::ground::BOUND;

/// Which client.
#[derive(Clone, Copy, Debug)]
pub enum Language {
    Rust,
    PythonThreads,
    PythonAsyncio,
}

/// How a client is set up. Times are seconds.
#[derive(Clone, Debug)]
pub struct Setup {
    pub mode: String,
    pub ttl: f64,
    pub timeout: f64,
    pub verify_interval: f64,
}

/// One client, ready to be asked from any number of tasks.
#[derive(Debug)]
pub enum Subject {
    Rust(Registrar),
    Python { process: Box<Process>, address: SocketAddr },
}

/// What it was asked: `get`, `verify_failed`, or `verify` with the password that the node has.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    Get,
    VerifyFailed,
    Verify(&'a str),
}

/// What it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `credential`, `cached`, `not_found`, `unavailable`, `accepted`, `refused`.
    pub is: String,
    pub password: Option<String>,
    pub why: Option<String>,
}

impl Subject {
    pub async fn new(
        language: Language,
        deployment: &Deployment,
        identity: &Identity,
        places: &[SocketAddr],
        setup: &Setup,
    ) -> Self {
        match language {
            Language::Rust => Self::Rust(rust(deployment, identity, places, setup)),
            Language::PythonThreads => python(false, deployment, identity, places, setup).await,
            Language::PythonAsyncio => python(true, deployment, identity, places, setup).await,
        }
    }

    pub async fn ask(&self, question: Question<'_>, node: &str, limit: Option<Duration>) -> Said {
        match self {
            Self::Rust(registrar) => ask_rust(registrar, question, node, limit.unwrap_or(BOUND)).await,
            Self::Python { address, process } => {
                let (op, password) = match question {
                    Question::Get => ("get", ""),
                    Question::VerifyFailed => ("verify_failed", ""),
                    Question::Verify(password) => ("verify", password),
                };
                let limit = limit.map(|limit| limit.as_secs_f64());
                let request = json!({ "op": op, "node": node, "password": password, "timeout": limit });
                let answer = timeout(BOUND, exchange(*address, &request)).await;
                let answer = answer.unwrap_or_else(|_| panic!("{request}: no answer; {}", process.log.tail()));
                let text = |key: &str| answer[key].as_str().map(str::to_owned);
                Said { is: text("is").unwrap(), password: text("password"), why: text("why") }
            }
        }
    }
}

fn rust(deployment: &Deployment, identity: &Identity, places: &[SocketAddr], setup: &Setup) -> Registrar {
    let policy = Policy {
        mode: if setup.mode == "central_first" { Mode::CentralFirst } else { Mode::CacheFirst },
        ttl: Duration::from_secs_f64(setup.ttl),
        timeout: Duration::from_secs_f64(setup.timeout),
        verify_interval: Duration::from_secs_f64(setup.verify_interval),
        ..Policy::default()
    };
    Registrar::new(places.iter().map(|address| deployment.endpoint(*address, identity)), policy).unwrap()
}

async fn ask_rust(registrar: &Registrar, question: Question<'_>, node: &str, limit: Duration) -> Said {
    let answer = match question {
        Question::Get => registrar.get(node, limit).await,
        Question::VerifyFailed => registrar.verify_failed(node, limit).await,
        Question::Verify(given) => {
            let verdict = registrar.verify(node, limit, |password| password.expose() == given).await;
            let why = verdict.as_ref().err().map(|unavailable| unavailable.word().to_owned());
            let is = verdict.map_or_else(|_| "unavailable".to_owned(), |verdict| verdict.to_string());
            return Said { is, password: None, why };
        }
    };
    let found = |is: &str, password: &Password| Said {
        is: is.to_owned(),
        password: Some(password.expose().to_owned()),
        why: None,
    };
    match answer {
        Answer::Credential(Credential { password, cached: false }) => found("credential", &password),
        Answer::Credential(Credential { password, cached: true }) => found("cached", &password),
        Answer::NotFound => Said { is: "not_found".to_owned(), ..Said::default() },
        Answer::Unavailable(unavailable) => {
            Said { is: "unavailable".to_owned(), password: None, why: Some(unavailable.word().to_owned()) }
        }
    }
}

async fn python(
    asyncio: bool,
    deployment: &Deployment,
    identity: &Identity,
    places: &[SocketAddr],
    setup: &Setup,
) -> Subject {
    let arguments = json!({
        "asyncio": asyncio, "mode": setup.mode, "ttl": setup.ttl, "timeout": setup.timeout,
        "verify_interval": setup.verify_interval, "settings": settings(deployment, identity, places),
    });
    let mut command = client_python().command();
    command.env("PYTHONPATH", package()).env("PYTHONDONTWRITEBYTECODE", "1");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registrar/python/agent.py"))
        .arg(arguments.to_string());
    let process = Process::start(command);
    let line = process.stdout.seen(0, |line| line.text.starts_with("listening "), BOUND).await;
    let address = line.text.trim_start_matches("listening ").parse().unwrap();
    Subject::Python { process: Box::new(process), address }
}

/// Arguments of the Python client's `Settings` for these gateways and this identity.
pub fn settings(deployment: &Deployment, identity: &Identity, places: &[SocketAddr]) -> Value {
    let files = identity.files.as_ref();
    json!({
        "endpoints": places, "ca": deployment.path("ca.pem"), "token_file": identity.token_file,
        "cert": files.map(|files| &files.cert), "key": files.map(|files| &files.key), "server_name": SERVER_NAME,
    })
}

/// A Python with what the client needs, which is grpcio alone.
pub fn client_python() -> Python {
    Python::with(&["grpcio"])
}

/// The Python client's sources.
pub fn package() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/src")
}

async fn exchange(address: SocketAddr, request: &Value) -> Value {
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    stream.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{request}: {error}: {line:?}"))
}
