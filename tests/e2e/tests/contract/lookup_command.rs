//! `credgate lookup` against the real gateway: an exit code for each kind of ending, the password only when asked for.

use std::net::SocketAddr;

use credgate_support::{
    deployment::{Deployment, Identity, Security},
    pki::Token,
    process::{Finished, Process},
    scripted::Behaviour,
};
use serde_json::{Value, json};

use crate::ground::BOUND;

#[derive(Clone, Copy)]
struct Command<'a> {
    deployment: &'a Deployment,
    address: SocketAddr,
    identity: &'a Identity,
}

impl Command<'_> {
    async fn run(&self, node: &str, more: &[&str]) -> Finished {
        let mut command = self.deployment.lookup_command(node, self.address, self.identity);
        command.args(more);
        if !more.contains(&"--timeout") {
            command.args(["--timeout", "20s"]);
        }
        let ended = tokio::task::spawn_blocking(move || Process::run(command, BOUND)).await.unwrap();
        let reminded = ended.stderr.contains("a lookup does not prove the rest of the registration path");
        assert_eq!(reminded, ended.exit.code == Some(0), "{}", ended.stderr);
        assert!(!ended.stderr.contains(self.identity.token.expose()));
        ended
    }

    /// Exit code and what `--json` says; without it, the code stands in a sentence.
    async fn ends(&self, node: &str, more: &[&str]) -> (i32, Value) {
        let ended = self.run(node, &[more, &["--json"]].concat()).await;
        assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let plain = self.run(node, more).await;
        assert_eq!(plain.exit.code, ended.exit.code);
        let begin = match json["code"].as_str().unwrap() {
            "OK" => "credgate: a lookup does not prove".into(),
            "unreachable" => "credgate: connect: ".into(),
            code => format!("credgate: {code}: "),
        };
        assert!(plain.stderr.starts_with(&begin), "{}", plain.stderr);
        (ended.exit.code.unwrap(), json)
    }
}

#[tokio::test]
async fn every_ending_has_its_exit_code() {
    let deployment = Deployment::mtls().with_scripted(4);
    let (gateway, script) = deployment.start_scripted().await;
    let command = Command { deployment: &deployment, address: gateway.lookup, identity: &deployment.registrar };
    let refused = |code: &str, reason: &str| json!({ "code": code, "reason": reason });
    assert_eq!(command.ends("2000", &[]).await, (0, json!({ "code": "OK" })));
    assert_eq!(command.ends("1999", &[]).await, (2, refused("NOT_FOUND", "NODE_NOT_FOUND")));
    assert_eq!(command.ends("no node", &[]).await, (1, refused("INVALID_ARGUMENT", "INVALID_NODE_ID")));
    for (behaviour, code, wanted) in [
        (Behaviour::Corrupt, 1, refused("INTERNAL", "CORRUPT_RECORD")),
        (Behaviour::password(""), 1, refused("INTERNAL", "CORRUPT_RECORD")),
        (Behaviour::Panic, 1, refused("INTERNAL", "PROVIDER_DEFECT")),
        (Behaviour::Unavailable, 3, refused("UNAVAILABLE", "BACKEND_UNAVAILABLE")),
    ] {
        script.default(behaviour.clone()).await;
        assert_eq!(command.ends("1999", &[]).await, (code, wanted), "{behaviour:?}");
    }
    script.default(Behaviour::Hang).await;
    let (code, json) = command.ends("1999", &["--timeout", "300ms"]).await;
    assert_eq!(code, 3, "{json}");

    let probe = Command { identity: &deployment.probe, ..command };
    assert_eq!(probe.ends("2000", &[]).await, (4, json!({ "code": "PERMISSION_DENIED" })));
    let stranger = deployment.registrar.with_token(Token::random());
    let stranger = Command { identity: &stranger, ..command };
    assert_eq!(stranger.ends("2000", &[]).await, (4, json!({ "code": "UNAUTHENTICATED" })));
    let nobody = deployment.registrar.with_certificate(None);
    let nobody = Command { identity: &nobody, ..command };
    assert_eq!(nobody.ends("2000", &[]).await, (4, json!({ "code": "tls" })));
    let control = Command { address: gateway.control, ..command };
    assert_eq!(control.ends("2000", &[]).await, (1, json!({ "code": "UNIMPLEMENTED" })));

    gateway.terminate();
    assert_eq!(gateway.ended(BOUND).await.code, Some(0));
    assert_eq!(command.ends("2000", &[]).await, (3, json!({ "code": "unreachable" })));
}

#[tokio::test]
async fn no_room_is_no_refusal() {
    let deployment = Deployment::mtls().merge("[rate]\nglobal = { per_second = 1, burst = 1 }");
    let gateway = deployment.start();
    let command = Command { deployment: &deployment, address: gateway.lookup, identity: &deployment.registrar };
    // One a second gets through; two at once do not.
    let mut limited = None;
    for _ in 0..10 {
        let (one, other) = tokio::join!(command.run("2000", &["--json"]), command.run("2000", &["--json"]));
        limited = [one, other].into_iter().find(|ended| ended.exit.code != Some(0));
        if limited.is_some() {
            break;
        }
    }
    let limited = limited.unwrap();
    assert_eq!(limited.exit.code, Some(3));
    let json: Value = serde_json::from_str(&limited.stdout).unwrap();
    assert_eq!(json, json!({ "code": "RESOURCE_EXHAUSTED", "reason": "RATE_LIMITED" }));
}

#[tokio::test]
async fn the_password_is_shown_only_when_asked_for() {
    for security in [Security::Mtls, Security::Token, Security::Plaintext] {
        let password = r#"back\slash "quoted" 'n $(more) "#;
        let deployment = Deployment::new(security).with_scripted(4);
        let (gateway, script) = deployment.start_scripted().await;
        script.node("1999", Behaviour::password(password)).await;
        let command = Command { deployment: &deployment, address: gateway.lookup, identity: &deployment.registrar };
        for arguments in [&[][..], &["--json"]] {
            let ended = command.run("1999", arguments).await;
            assert_eq!(ended.exit.code, Some(0));
            assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("slash"), "{arguments:?}");
        }
        let shown = command.run("1999", &["--show-password"]).await;
        assert_eq!((shown.exit.code, shown.stdout), (Some(0), format!("{password}\n")));
        let shown = command.run("1999", &["--show-password", "--json"]).await;
        let json: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(json, json!({ "code": "OK", "password": password }));
        assert!(!shown.stderr.contains("slash") && !gateway.log.text().contains("slash"));
    }
}
