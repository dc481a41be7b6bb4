//! The fault matrix: what happens to a database, and what the gateway answers during it and after it.
//!
//! Sixteen callers ask without a pause from before the fault until after it. The table says which statuses they got while
//! it lasted, the slowest and the 99th of a hundred answers then, how long after its end the first right answer came, how
//! many answers were wrong at any time, and what is left in the server afterwards.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
    grpc::Client,
    process::{Gateway, Process},
    proxy::{Mode, Proxy},
};
use futures::future::join_all;
use tokio::time::sleep;

const CALLERS: usize = 16;
/// How long each fault lasts.
const FAULT: Duration = Duration::from_secs(10);
/// How long is waited for a right answer after it.
const PATIENCE: Duration = Duration::from_secs(30);

/// One fault: how it begins and how it ends.
struct Fault {
    name: &'static str,
    begin: fn(&Ground),
    end: fn(&Ground),
}

struct Ground {
    database: Database,
    proxy: Proxy,
    deployment: Deployment,
}

struct Answer {
    at: Instant,
    took: Duration,
    ending: Result<bool, String>,
}

const FAULTS: [Fault; 6] = [
    Fault { name: "connections killed", begin: |ground| assert!(ground.database.end_connections() > 0), end: |_| {} },
    Fault {
        name: "stopped and started",
        begin: |ground| ground.database.stop(),
        end: |ground| ground.database.start_again(),
    },
    Fault { name: "SIGSTOP, SIGCONT", begin: |ground| ground.database.freeze(), end: |ground| ground.database.thaw() },
    Fault {
        name: "silent drop",
        begin: |ground| ground.proxy.set(Mode::BlackHole),
        end: |ground| ground.proxy.set(Mode::Pass),
    },
    Fault {
        name: "connections refused",
        begin: |ground| {
            ground.proxy.set(Mode::Refuse);
            ground.proxy.cut();
        },
        end: |ground| ground.proxy.set(Mode::Pass),
    },
    Fault {
        name: "table locked",
        begin: |ground| lock(&ground.database),
        // The lock ends by itself.
        end: |_| {},
    },
];

pub fn run() {
    println!("lookup.timeout 2 s, {CALLERS} callers, each fault {} s\n", FAULT.as_secs());
    println!(
        "| provider | fault | status during it | slowest | p99 | first right answer after | wrong | connections, \
         statements left |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for kind in Kind::ALL {
        for fault in &FAULTS {
            let ground = Ground::new(kind);
            let gateway = ground.deployment.start();
            println!("{}", runtime.block_on(ground.row(&gateway, fault)));
        }
    }
    sqlite(&runtime);
}

/// What can happen to a file: it is locked, and it is gone.
fn sqlite(runtime: &tokio::runtime::Runtime) {
    for name in ["locked", "gone"] {
        let (deployment, _) = crate::deployments::deployment(crate::deployments::Store::Sqlite, 10);
        let gateway = deployment.start();
        let file = deployment.path("nodes.db");
        let away = deployment.path("away.db");
        let begin = || match name {
            "locked" => {
                let sql = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT count(*) FROM credgate_nodes;";
                let mut command = std::process::Command::new("sh");
                command.args(["-c", "(echo \"$1\"; sleep \"$2\") | sqlite3 \"$0\" >/dev/null"]).arg(&file).arg(sql);
                let mut holder = command.arg(FAULT.as_secs().to_string()).spawn().unwrap();
                std::thread::spawn(move || holder.wait());
            }
            _ => std::fs::rename(&file, &away).unwrap(),
        };
        // The lock ends by itself.
        let end = || {
            if away.exists() {
                std::fs::rename(&away, &file).unwrap();
            }
        };
        let (answers, span) = runtime.block_on(observe(&deployment, &gateway, begin, end));
        println!("| sqlite | {name} | {} | no server |", figures(&answers, span));
    }
}

impl Ground {
    fn new(kind: Kind) -> Self {
        let database = Database::start(kind);
        let proxy = Proxy::to(database.address());
        let deployment = Deployment::mtls()
            .remove("provider.csv")
            .set("provider.kind", "sql")
            .set("provider.sql.url", database.url(READER, &proxy.address().to_string()))
            .with_file("owner.url", database.owner_url());
        let (nodes, owner) = (deployment.path("nodes.csv"), deployment.path("owner.url"));
        for args in [vec!["migrate"], vec!["import", nodes.to_str().unwrap()]] {
            let mut command = deployment.command(args);
            command.arg("--url-file").arg(&owner);
            assert_eq!(Process::run(command, PATIENCE).exit.code, Some(0));
        }
        Self { database, proxy, deployment }
    }

    async fn row(&self, gateway: &Gateway, fault: &Fault) -> String {
        let (begin, end) = (|| (fault.begin)(self), || (fault.end)(self));
        let (answers, span) = observe(&self.deployment, gateway, begin, end).await;
        // Whatever was given up has ended by now, or never will.
        sleep(Duration::from_secs(3)).await;
        let left = format!("{}, {}", self.database.connections().saturating_sub(17), self.database.statements());
        let kind = if self.database.kind == Kind::Postgres { "postgres" } else { "mariadb" };
        format!("| {kind} | {} | {} | {left} |", fault.name, figures(&answers, span))
    }
}

/// Asks from before a fault until the answers are right again after it; also when it began and ended.
async fn observe(
    deployment: &Deployment,
    gateway: &Gateway,
    begin: impl FnOnce(),
    end: impl FnOnce(),
) -> (Vec<Answer>, (Instant, Instant)) {
    let client = Client::open(deployment, gateway.lookup, &deployment.registrar).await;
    let answers = Mutex::new(Vec::new());
    let ended = Mutex::new(None);
    let callers = join_all((0..CALLERS).map(|_| async {
        loop {
            let at = Instant::now();
            let answer = client.lookup("2000").await;
            let right = answer.as_deref() == Ok(deployment.nodes.password("2000"));
            let ending = answer.map(|_| right);
            // As a caller would, a moment apart.
            sleep(Duration::from_millis(5)).await;
            locked(&answers).push(Answer { at, took: at.elapsed() - Duration::from_millis(5), ending });
            let over = *locked(&ended);
            if over.is_some_and(|over: Instant| (at > over && right) || over.elapsed() > PATIENCE) {
                return;
            }
        }
    }));
    let disturb = async {
        sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        tokio::task::block_in_place(begin);
        sleep(FAULT).await;
        tokio::task::block_in_place(end);
        *locked(&ended) = Some(Instant::now());
        began
    };
    let (_, began) = tokio::join!(callers, disturb);
    let end = locked(&ended).unwrap_or(began);
    (answers.into_inner().unwrap_or_else(PoisonError::into_inner), (began, end))
}

fn figures(answers: &[Answer], (began, ended): (Instant, Instant)) -> String {
    let during: Vec<&Answer> = answers.iter().filter(|answer| answer.at >= began && answer.at < ended).collect();
    let mut counts = BTreeMap::new();
    for answer in &during {
        let status = answer.ending.as_ref().map_or_else(Clone::clone, |_| "OK".to_owned());
        *counts.entry(status).or_insert(0) += 1;
    }
    let statuses: Vec<_> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let mut times: Vec<Duration> = during.iter().map(|answer| answer.took).collect();
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1)));
    let show = |time: Option<&Duration>| time.map_or("none".into(), |time| format!("{} ms", time.as_millis()));
    let right = |answer: &&Answer| answer.ending == Ok(true);
    let first = answers.iter().filter(right).map(|answer| answer.at + answer.took).filter(|at| *at >= ended).min();
    let first = first.map(|at| at - ended);
    let wrong = answers.iter().filter(|answer| match &answer.ending {
        Ok(right) => !right,
        Err(ending) => ending.starts_with("NOT_FOUND"),
    });
    format!(
        "{} | {} | {} | {} | {}",
        statuses.join(", "),
        show(times.last()),
        show(at(99)),
        show(first.as_ref()),
        wrong.count()
    )
}

fn lock(database: &Database) {
    let seconds = FAULT.as_secs();
    let sql = match database.kind {
        Kind::Postgres => format!("BEGIN; LOCK TABLE credgate_nodes; SELECT pg_sleep({seconds}); COMMIT"),
        Kind::MariaDb => format!("LOCK TABLES credgate_nodes WRITE; SELECT sleep({seconds}); UNLOCK TABLES"),
    };
    let mut command = database.client("credgate");
    command.arg(sql).stdout(std::process::Stdio::null());
    let mut holder = command.spawn().unwrap();
    std::thread::spawn(move || holder.wait());
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
