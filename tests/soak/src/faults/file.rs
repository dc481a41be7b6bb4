//! What can happen to an SQLite file.

use std::{
    fs,
    process::{Command, Stdio},
};

use credgate_support::{deployment::Deployment, process::Gateway};
use tokio::runtime::Runtime;

use super::{
    ground::{FAULT, GIVEN_UP, last},
    is_wanted,
    observed::{Passwords, observe},
};
use crate::deployments;

/// Its name, and the fault from its beginning to its end.
type Fault = (&'static str, fn(&Deployment));

const FAULTS: [Fault; 3] = [
    ("locked by a writer, rollback mode", lock),
    ("file gone and back", |deployment| {
        fs::rename(deployment.path("nodes.db"), deployment.path("away.db")).unwrap();
        last(FAULT);
        fs::rename(deployment.path("away.db"), deployment.path("nodes.db")).unwrap();
    }),
    (REPLACED, |deployment| fs::rename(deployment.path("next.db"), deployment.path("nodes.db")).unwrap()),
];

/// Noticed by the next check.
const REPLACED: &str = "file replaced (health.interval 5 s)";
/// What is stored for node 2000 in the file that takes its place.
const NEXT: &str = "what-the-next-file-has";

pub fn run(runtime: &Runtime) {
    for (name, act) in FAULTS.into_iter().filter(|(name, _)| is_wanted("sqlite", name)) {
        let (deployment, _) = deployments::deployment(deployments::Store::Sqlite, 10);
        let file = deployment.path("nodes.db");
        sqlite3(&deployment, "nodes.db", "PRAGMA journal_mode = DELETE");
        fs::copy(&file, deployment.path("next.db")).unwrap();
        sqlite3(
            &deployment,
            "next.db",
            &format!("UPDATE credgate_nodes SET password = '{NEXT}' WHERE node_id = '2000'"),
        );
        let own = deployment.nodes.password("2000").to_owned();
        let passwords = Passwords { after: if name == REPLACED { NEXT.to_owned() } else { own.clone() }, before: own };
        let gateway = deployment.start();
        let before = || held(&gateway);
        let (observed, before) =
            runtime.block_on(observe(&deployment, &gateway, passwords, before, || act(&deployment)));
        last(GIVEN_UP);
        let leaked = held(&gateway).saturating_sub(before);
        println!("| sqlite | {name} | {} | {leaked}, in this process |", observed.columns());
    }
}

/// For as long as the writer's transaction is open.
fn lock(deployment: &Deployment) {
    let sql = "BEGIN EXCLUSIVE; SELECT count(*) FROM credgate_nodes;";
    let mut command = Command::new("sh");
    command.args(["-c", "(echo \"$1\"; sleep \"$2\") | sqlite3 \"$0\" >/dev/null"]);
    command.arg(deployment.path("nodes.db")).arg(sql).arg(FAULT.as_secs().to_string());
    assert!(command.status().unwrap().success());
}

fn sqlite3(deployment: &Deployment, file: &str, sql: &str) {
    let status = Command::new("sqlite3").arg(deployment.path(file)).arg(sql).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
}

/// Descriptors that lead to a database, one that has been deleted included.
fn held(gateway: &Gateway) -> usize {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", gateway.pid())).unwrap().flatten();
    let files = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    files.filter(|file| file.to_string_lossy().contains(".db")).count()
}
