//! Token files of `credgate lookup` and `credgate-probe` (S5): one trailing line ending, and nothing else that is odd.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use credgate_support::{
    canary::Canary,
    deployment::{Deployment, Identity},
    process::{Finished, Gateway, Process, executable},
};

use crate::refusal::BOUND;

/// Both executables, one after the other, with a token file of this content: `None` is no file at all.
fn with_token_file(deployment: &Deployment, gateway: &Gateway, content: Option<&[u8]>) -> [Finished; 2] {
    let registrar = of_content(deployment, &deployment.registrar, content);
    let lookup = Process::run(deployment.lookup_command("2000", gateway.lookup, &registrar), BOUND);
    let probe = of_content(deployment, &deployment.probe, content);
    [lookup, Process::run(deployment.probe_command("readiness", gateway.control, &probe), BOUND)]
}

/// The identity with this token file, in which `TOKEN` stands for its token.
fn of_content(deployment: &Deployment, identity: &Identity, content: Option<&[u8]>) -> Identity {
    let token_file = deployment.path("odd.token");
    let _ = fs::remove_file(&token_file);
    if let Some(content) = content {
        let token = identity.token.expose().as_bytes();
        let place = content.windows(5).position(|part| part == b"TOKEN");
        let content = match place {
            Some(at) => [&content[..at], token, &content[at + 5..]].concat(),
            None => content.to_owned(),
        };
        fs::write(&token_file, content).unwrap();
        fs::set_permissions(&token_file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    Identity { token_file, ..identity.clone() }
}

#[test]
fn exactly_one_line_ending_is_removed() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    for content in [&b"TOKEN"[..], b"TOKEN\n", b"TOKEN\r\n"] {
        for ended in with_token_file(&deployment, &gateway, Some(content)) {
            assert_eq!(ended.exit.code, Some(0), "{content:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn anything_else_is_refused_by_name_and_never_shown() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let canary = Canary::new(deployment.secrets());
    let path = deployment.path("odd.token").display().to_string();
    for (content, words) in [
        (Some(&b"TOKEN\n\n"[..]), "holds more than one line; exactly one line ending at the end is allowed"),
        (Some(b"TOKEN\r\n\r\n"), "holds more than one line"),
        (Some(b"TOKEN\nTOKEN\n"), "holds more than one line"),
        (Some(b"\nTOKEN"), "holds more than one line"),
        (Some(b"\xef\xbb\xbfTOKEN\n"), "begins with a byte order mark; save it as UTF-8 without one"),
        (Some(b"\xff\xfet\0o\0"), "is not UTF-8 text"),
        (Some(b" TOKEN\n"), "holds blanks or control characters"),
        (Some(b"TOKEN \n"), "holds blanks or control characters"),
        (Some(b"Bearer TOKEN\n"), "holds blanks or control characters"),
        (Some(b"TOKEN\t\n"), "holds blanks or control characters"),
        (Some(b"TOKEN\0\n"), "holds blanks or control characters"),
        (Some(b""), "is empty"),
        (Some(b"\n"), "is empty"),
        (Some(b"\r\n"), "is empty"),
        (Some(b"short-canary\n"), "holds 12 characters; a token has 32 to 512 (`credgate token new` makes one)"),
        (Some(&[b'x'; 513]), "holds 513 characters; a token has 32 to 512"),
        (Some("TOKENü\n".as_bytes()), "holds characters that are not ASCII"),
        (None, "cannot be read: No such file or directory"),
    ] {
        for (ended, command) in
            with_token_file(&deployment, &gateway, content).iter().zip(["credgate", "credgate-probe"])
        {
            let shown = content.map(String::from_utf8_lossy);
            assert_eq!(ended.exit.code, Some(1), "{command} with {shown:?}: {}{}", ended.stdout, ended.stderr);
            assert_eq!(ended.stdout, "", "{command} with {shown:?}");
            let wanted = format!("{path}: {words}");
            assert!(ended.stderr.contains(&wanted), "{command} with {shown:?}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
            canary.absent_from(command, &ended.stderr);
            assert!(!ended.stderr.contains("short-canary"), "{}", ended.stderr);
        }
    }
    let reached = gateway.log.lines().iter().any(|line| line.says("authentication failed"));
    assert!(!reached, "an odd token was sent: {}", gateway.log.tail());
}

#[test]
fn a_token_comes_from_a_file_and_from_nowhere_else() {
    let deployment = Deployment::mtls();
    let gateway = deployment.start();
    let token = deployment.registrar.token.expose();
    let without = |command: Command| {
        let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let at = args.iter().position(|arg| arg == "--token-file").unwrap();
        let mut stripped = Command::new(command.get_program());
        stripped.args(&args[..at]).args(&args[at + 2..]);
        stripped.env("CREDGATE_TOKEN", format!("{token}\n")).env("TOKEN", token).env("CREDGATE_TOKEN_FILE", "x");
        stripped
    };
    for command in [
        deployment.lookup_command("2000", gateway.lookup, &deployment.registrar),
        deployment.probe_command("readiness", gateway.control, &deployment.probe),
    ] {
        let ended = Process::run(without(command), BOUND);
        assert_eq!(ended.exit.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("--token-file"), "{}", ended.stderr);
    }
    let mut pasted = executable("credgate");
    pasted.args(["lookup", "2000", "--addr", "127.0.0.1:1", "--ca", "ca.pem", "--token-file", token]);
    let ended = Process::run(pasted, BOUND);
    assert_eq!(ended.exit.code, Some(1), "{}", ended.stderr);
}
