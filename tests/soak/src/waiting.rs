//! What `credgate-probe await` costs while there is nothing to do but wait: CPU time of a literal minute.
//!
//! Its own and that of the programs it starts. systemd need not run here: a `systemctl` of ours, first on the `PATH`,
//! stands for it and costs a shell and a `cat` each time, which the real one is not.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, id},
    time::Duration,
};

use credgate_client::ServingStatus;
use credgate_support::{
    deployment::Deployment,
    grpc::Client,
    metrics,
    process::{Gateway, Process, executable},
    scripted::CheckBehaviour,
};
use tokio::time::sleep;

use crate::load::{self, BOUND};

const MINUTE: Duration = Duration::from_secs(60);

pub fn run() {
    load::run(async {
        let deployment = Deployment::mtls().with_scripted(8);
        let (gateway, script) = deployment.start_scripted().await;
        script.check(CheckBehaviour::Fail).await;
        let client = Client::open(&deployment, gateway.control, &deployment.probe).await;
        client.watch("readiness").await.unwrap().until(ServingStatus::NotServing, BOUND).await;
        let before = reads(&gateway).await;
        measure(&deployment, &gateway).await;
        let reads = (reads(&gateway).await - before) / 2.0;
        println!("\nReads of a gateway by each wait for it: {reads:.0}.");
    });
}

async fn reads(gateway: &Gateway) -> f64 {
    metrics::scrape(gateway.metrics.unwrap()).await.sum("credgate_rpcs_total", &[("method", "Check")])
}

/// Four waits at once, each for something that does not come.
async fn measure(deployment: &Deployment, gateway: &Gateway) {
    let folder = Folder::new(gateway.pid());
    let mut idle = Command::new("sleep");
    idle.arg("600");
    let idle = Process::start(idle);
    let pid = gateway.pid().to_string();
    let asking = deployment.client_arguments(gateway.control, &deployment.probe);
    let page = format!("http://{}/healthz/ready", gateway.metrics.unwrap());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let waits = [
        ("a gateway that is not ready, by process number", [words(&["--pid", &pid]), asking.clone()].concat()),
        ("the same, by unit", [words(&["--unit", "gate"]), asking].concat()),
        ("its page, by process number", words(&["--pid", &pid, "--addr", &page])),
        ("a process that does not listen", words(&["--pid", &idle.pid().to_string(), "--addr", "http://127.0.0.1:9/"])),
    ]
    .map(|(what, words)| (what, folder.wait(&words)));
    for (_, wait) in &waits {
        wait.stdout.wait_for(|line| line.text.contains("reading it again"), BOUND);
    }
    // The pauses have grown by then.
    sleep(Duration::from_secs(3)).await;
    let before = waits.each_ref().map(|(_, wait)| cpu(wait.pid()));
    sleep(MINUTE).await;
    println!("| waiting for | CPU in a minute | memory | lines printed |\n|---|---|---|---|");
    for ((what, wait), before) in waits.iter().zip(before) {
        let used = cpu(wait.pid()) - before;
        let memory = wait.usage().memory as f64 / 1024.0 / 1024.0;
        println!("| {what} | {:.2} s | {memory:.1} MB | {} |", used.as_secs_f64(), wait.stdout.lines().len());
        assert!(wait.is_running());
    }
}

/// The stand-in for systemd, and the register.
struct Folder(PathBuf);

impl Folder {
    fn new(process: u32) -> Self {
        let folder = std::env::temp_dir().join(format!("credgate-waiting-{}", id()));
        fs::create_dir_all(&folder).unwrap();
        let said =
            format!("LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID={process}\n");
        fs::write(folder.join("said"), said).unwrap();
        let program = folder.join("systemctl");
        fs::write(&program, "#!/bin/sh\ncat \"$(dirname \"$0\")/said\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    fn wait(&self, words: &[String]) -> Process {
        let mut command = executable("credgate-probe");
        let mut path = OsString::from(&self.0);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.arg("await").args(words).env("PATH", path).env("CREDGATE_RUNTIME_DIR", &self.0);
        Process::start(command)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Own time and that of children that have ended (fields 14 to 17 of proc_pid_stat(5)).
fn cpu(process: u32) -> Duration {
    let stat = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum();
    // 100 ticks a second, on every Linux that people run.
    Duration::from_millis(ticks * 10)
}
