//! Files that are no plain files: symbolic links as Kubernetes mounts Secrets, and pipes.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Process},
};

use crate::refusal::{BOUND, Sample, on};

/// Moves the files of a deployment into `..NAME` and links each through `..data`, as the kubelet does.
fn mount(folder: &Path, name: &str) {
    let version = folder.join(format!("..{name}"));
    fs::create_dir(&version).unwrap();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_file())
    {
        fs::rename(entry.path(), version.join(entry.file_name())).unwrap();
        symlink(Path::new("..data").join(entry.file_name()), entry.path()).unwrap();
    }
    symlink(version.file_name().unwrap(), folder.join("..data")).unwrap();
}

/// Points `..data` to another version in one step.
fn replace(folder: &Path, name: &str) {
    symlink(format!("..{name}"), folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

#[tokio::test]
async fn files_that_kubernetes_mounts_are_read_and_their_replacement_is_noticed() {
    let deployment = Deployment::mtls().with_nodes(3).set("health.file_interval", "50ms");
    let config = deployment.write();
    let folder = deployment.dir();
    mount(folder, "first");
    let gateway = Gateway::ready(Process::start(on(&config, "serve")));
    let client = Client::open(&deployment, gateway.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"));

    let mark = gateway.log.mark();
    let second = folder.join("..second");
    fs::create_dir(&second).unwrap();
    for entry in fs::read_dir(folder.join("..first")).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), second.join(entry.file_name())).unwrap();
    }
    fs::write(second.join("nodes.csv"), "node_id,password\n2000,another\n").unwrap();
    replace(folder, "second");
    let line = gateway.log.seen(mark, |line| line.text.contains("file differs from what is loaded"), BOUND).await;
    assert_eq!(line.field("path"), folder.join("nodes.csv").to_str(), "{}", line.text);
    assert_eq!(client.lookup("2000").await.unwrap(), deployment.nodes.password("2000"), "a change takes a restart");

    let restarted = Gateway::ready(Process::start(on(&config, "serve")));
    let client = Client::open(&deployment, restarted.lookup, &deployment.registrar).await;
    assert_eq!(client.lookup("2000").await.unwrap(), "another");
}

#[test]
fn a_world_readable_mount_is_a_warning_for_each_secret() {
    let sample = Sample::new();
    let deployment = &sample.deployment;
    for secret in ["server.key", "nodes.csv"] {
        fs::set_permissions(deployment.path(secret), fs::Permissions::from_mode(0o644)).unwrap();
    }
    mount(deployment.dir(), "first");
    let warnings = sample.accepted(sample.text());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.contains("is readable by every user")), "{warnings:?}");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let sample = Sample::new();
    for (file, key) in [("server.key", "tls.key"), ("ca.pem", "tls.client_ca"), ("nodes.csv", "provider.csv.path")] {
        let path = sample.deployment.path(file);
        let content = fs::read(&path).unwrap();
        pipe(&path);
        let anchor = format!("\"{file}\"");
        sample.refused(sample.text()).says(&[(&anchor, key, "cannot be read: not a regular file")]);
        fs::remove_file(&path).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let config: PathBuf = sample.deployment.path("pipe.toml");
    pipe(&config);
    for command in ["check-config", "serve"] {
        let ended = Process::run(on(&config, command), BOUND);
        assert_eq!(ended.exit.code, Some(78), "{}", ended.stderr);
        assert!(ended.stderr.contains("pipe.toml: cannot be read: not a regular file"), "{}", ended.stderr);
    }
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}
