//! Secrets appear nowhere: a deployment at the noisiest log level, calls of every kind, and everything it writes.

use std::{net::SocketAddr, time::Duration};

use credgate_support::{
    canary::Canary,
    deployment::{Deployment, Identity},
    grpc::{Client, ending},
    metrics,
    pki::Token,
    process::{Gateway, Line, Process, Signal},
    scripted::{Behaviour, Script},
};

use crate::refusal::BOUND;

/// A gateway whose log may be text.
struct Served {
    process: Process,
    lookup: SocketAddr,
    control: SocketAddr,
    metrics: SocketAddr,
}

impl Served {
    /// Waits until it is ready. In both formats the address is the last field of its line but one.
    fn ready(process: Process) -> Self {
        let says = |line: &Line, message: &str| line.says(message) || line.text.contains(&format!(": {message} "));
        process.log.wait_for(|line| says(line, "ready"), Gateway::START);
        let address = |listener: &str| {
            let wanted = format!("listener=\"{listener}\" address=");
            let of_it = |line: &Line| line.field("listener") == Some(listener) || line.text.contains(&wanted);
            let line = process.log.wait_for(|line| says(line, "listening") && of_it(line), BOUND);
            let text = line.text.split("address=").nth(1).or(line.field("address")).unwrap();
            text.trim().parse().unwrap_or_else(|error| panic!("{error}: {}", line.text))
        };
        let (lookup, control, metrics) = (address("lookup"), address("control"), address("metrics"));
        Self { process, lookup, control, metrics }
    }
}

/// Tokens, passwords, and lines of each private key.
fn secrets(deployment: &Deployment) -> Vec<String> {
    let clients = [&deployment.registrar, &deployment.probe];
    let keys = clients.map(|identity| identity.certificate.as_ref().unwrap().key_pem()).into_iter();
    let keys = keys.chain([deployment.server.key_pem()]).flat_map(|pem| key_lines(&pem));
    deployment.secrets().into_iter().chain(keys).collect()
}

/// The lines that hold the key. The last one is short, and P-256 keys begin alike: neither tells one from another.
fn key_lines(pem: &str) -> Vec<String> {
    pem.lines().filter(|line| line.len() == 64 && !line.starts_with("-----")).skip(1).map(str::to_owned).collect()
}

/// Good and bad calls of every kind, by `credgate lookup`, the probe and a client; their output must be clean too.
async fn drive(deployment: &Deployment, gateway: &Served, secrets: &[String]) {
    let stranger = deployment.registrar.with_token(Token::random());
    let crossed = Identity { files: deployment.probe.files.clone(), ..deployment.registrar.clone() };
    let bare = deployment.registrar.with_certificate(None);
    let canary = Canary::new(secrets.iter().map(String::as_str).chain([stranger.token.expose()]));
    for node in ["2000", "2001", "1", "no-node", "", "3", "4", "5", "6"] {
        for identity in [&deployment.registrar, &deployment.probe, &stranger, &crossed, &bare] {
            for flags in [&["--timeout", "500ms"][..], &["--json"]] {
                let mut command = deployment.lookup_command(node, gateway.lookup, identity);
                command.args(flags).env("RUST_LOG", "trace");
                let ended = Process::run(command, BOUND);
                canary.absent_from("credgate lookup", &format!("{}{}", ended.stdout, ended.stderr));
            }
        }
    }
    for identity in [&deployment.registrar, &deployment.probe, &stranger, &crossed, &bare] {
        for (what, address) in [("readiness", gateway.control), ("liveness", gateway.lookup)] {
            let mut command = deployment.probe_command(what, address, identity);
            command.env("RUST_LOG", "trace");
            let ended = Process::run(command, BOUND);
            canary.absent_from("credgate-probe", &format!("{}{}", ended.stdout, ended.stderr));
        }
    }
    let client = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
    for node in ["2000", "1", "no-node"] {
        if let Err(status) = client.lookup_status(node, Some(Duration::from_millis(500))).await {
            canary.absent_from("a status", &format!("{} {status:?}", ending(&status)));
        }
    }
    let mut watch = client.watch("readiness").await.unwrap();
    watch.next(BOUND).await.unwrap();
}

/// Everything that the gateway wrote until it ended.
async fn everything(gateway: Served) -> String {
    let page = metrics::scrape(gateway.metrics).await;
    assert!(page.sum("credgate_rpcs_total", &[("method", "LookupCredential"), ("code", "OK")]) >= 1.0, "{}", page.text);
    gateway.process.signal(Signal::HUP);
    gateway.process.terminate();
    assert_eq!(gateway.process.ended(BOUND).await.code, Some(0));
    format!("{}{}{}", page.text, gateway.process.log.whole(BOUND), gateway.process.stdout.whole(BOUND))
}

async fn at_trace(format: &str) {
    let deployment = Deployment::mtls().with_nodes(5).set("log.level", "trace").set("log.format", format);
    let secrets = secrets(&deployment);
    let mut command = deployment.command(["serve"]);
    command.env("RUST_LOG", "trace");
    let gateway = Served::ready(Process::start(command));
    drive(&deployment, &gateway, &secrets).await;
    let written = everything(gateway).await;
    assert!(written.contains("authentication failed"), "the log is there: {written}");
    Canary::new(secrets).absent_from("what the gateway wrote", &written);
}

#[tokio::test]
async fn no_secret_is_written_at_trace_in_json() {
    at_trace("json").await;
}

#[tokio::test]
async fn no_secret_is_written_at_trace_in_text() {
    at_trace("text").await;
}

#[tokio::test]
async fn no_secret_is_written_when_records_are_corrupt_and_providers_fail() {
    let deployment = Deployment::mtls().set("log.level", "trace").with_scripted(4);
    let corrupt = ["canary-of-a-corrupt-record", "canary-with-\u{7}-a-bell"];
    let secrets: Vec<String> = secrets(&deployment).into_iter().chain(corrupt.map(str::to_owned)).collect();
    let mut command = deployment.command_of("credgate-scripted", ["serve"]);
    command.env("RUST_LOG", "trace");
    let gateway = Served::ready(Process::start(command));
    let script = Script::of(&gateway.process);
    script.node("3", Behaviour::password(&format!("{}\u{e9}", corrupt[0]))).await;
    script.node("4", Behaviour::password(corrupt[1])).await;
    script.node("5", Behaviour::Panic).await;
    script.node("6", Behaviour::Defect).await;
    drive(&deployment, &gateway, &secrets).await;
    let written = everything(gateway).await;
    for reason in ["CORRUPT_RECORD", "PROVIDER_DEFECT"] {
        assert!(written.contains(reason), "{reason}: {written}");
    }
    Canary::new(secrets).absent_from("what the gateway wrote", &written);
}
