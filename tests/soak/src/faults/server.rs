//! What can happen to a database server, and to the way to it.

use std::{
    process::Child,
    time::{Duration, Instant},
};

use credgate_support::{
    database::{Database, Kind, READER},
    proxy::Mode,
};
use sqlx::{Connection as _, MySqlConnection};
use tokio::runtime::{Handle, Runtime};

use super::{
    ground::{FAULT, GIVEN_UP, Ground, held, last},
    is_wanted, name,
    observed::{Passwords, observe},
};

/// A fault, from its beginning to its end.
struct Fault {
    name: &'static str,
    act: Act,
}

enum Act {
    /// The server is the same before and after.
    Alone(fn(&Ground)),
    /// Another server takes its place.
    Replaced(fn(&Ground, &Database)),
}

/// What is stored for node 2000 on the server that takes over.
const ELSEWHERE: &str = "what-the-other-server-has";

const FAULTS: [Fault; 11] = [
    Fault { name: "connections killed, all of them once a second", act: Act::Alone(kill_connections) },
    Fault {
        name: "stopped and started",
        act: Act::Alone(|ground| {
            ground.database.stop();
            last(FAULT);
            ground.database.start_again();
        }),
    },
    Fault { name: "20 restarts in 2 minutes", act: Act::Alone(restart_twenty_times) },
    Fault {
        name: "SIGSTOP, SIGCONT",
        act: Act::Alone(|ground| {
            ground.database.freeze();
            last(FAULT);
            ground.database.thaw();
        }),
    },
    Fault { name: "silent drop", act: Act::Alone(|ground| for_a_while(ground, Mode::BlackHole)) },
    Fault { name: "silent drop, queries held by a lock", act: Act::Alone(drop_under_lock) },
    Fault { name: "connections refused", act: Act::Alone(|ground| for_a_while(ground, Mode::Refuse)) },
    Fault {
        name: "table locked",
        act: Act::Alone(|ground| {
            lock(&ground.database, FAULT).wait().unwrap();
        }),
    },
    Fault { name: "login refused", act: Act::Alone(refuse_logins) },
    Fault { name: "too many clients", act: Act::Alone(fill_up) },
    Fault {
        name: "server gone, its name leads to another one after 10 s",
        act: Act::Replaced(|ground, spare| {
            ground.database.kill();
            last(FAULT);
            ground.proxy.lead_to(spare.address());
        }),
    },
];

/// The old server lives on: nothing fails, and connections are replaced as they age.
const MOVE: Fault = Fault {
    name: "its name leads to another one (max_connection_age 5 s)",
    act: Act::Replaced(|ground, spare| ground.proxy.lead_to(spare.address())),
};

pub fn run(runtime: &Runtime, kind: Kind) {
    for fault in FAULTS.iter().chain([&MOVE]).filter(|fault| is_wanted(name(kind), fault.name)) {
        println!("{}", row(runtime, kind, fault));
    }
}

fn row(runtime: &Runtime, kind: Kind, fault: &Fault) -> String {
    let mut ground = Ground::new(kind);
    ground.deployment.config.set("provider.sql.max_connection_age", if fault.name == MOVE.name { "5s" } else { "10m" });
    let spare = matches!(fault.act, Act::Replaced(_)).then(|| ground.spare(ELSEWHERE));
    let own = ground.deployment.nodes.password("2000").to_owned();
    let passwords = Passwords { after: if spare.is_some() { ELSEWHERE.to_owned() } else { own.clone() }, before: own };
    let gateway = ground.deployment.start();
    let pid = gateway.pid();
    let act = || match (&fault.act, &spare) {
        (Act::Alone(act), _) => act(&ground),
        (Act::Replaced(act), Some(spare)) => act(&ground, spare),
        (Act::Replaced(_), None) => {}
    };
    let before = || held(&[&ground.database]).0;
    let (observed, before) = runtime.block_on(observe(&ground.deployment, &gateway, passwords, before, act));
    last(GIVEN_UP);
    let servers: Vec<&Database> = [&ground.database].into_iter().chain(&spare).collect();
    let running = if fault.name.starts_with("server gone") { &servers[1..] } else { &servers[..] };
    let (connections, statements) = held(running);
    assert!(gateway.is_running() && gateway.pid() == pid, "{}", gateway.log.tail());
    let leaked = connections.saturating_sub(before);
    format!("| {} | {} | {} | {leaked}, {statements} |", name(kind), fault.name, observed.columns())
}

fn kill_connections(ground: &Ground) {
    assert!(ground.database.connections() > 0);
    let end = Instant::now() + FAULT;
    while Instant::now() < end {
        ground.database.end_connections();
        last(Duration::from_secs(1));
    }
}

/// B7.
fn restart_twenty_times(ground: &Ground) {
    let began = Instant::now();
    for turn in 1..=20 {
        ground.database.stop();
        last(Duration::from_secs(1));
        ground.database.start_again();
        last((Duration::from_secs(6) * turn).saturating_sub(began.elapsed()));
    }
}

fn for_a_while(ground: &Ground, mode: Mode) {
    ground.proxy.set(mode);
    if mode == Mode::Refuse {
        ground.proxy.cut();
    }
    last(FAULT);
    ground.proxy.set(Mode::Pass);
}

/// B14: the statements wait for a lock when the path vanishes, so none of them is answered on its way.
fn drop_under_lock(ground: &Ground) {
    let mut holder = lock(&ground.database, FAULT);
    let end = Instant::now() + Duration::from_secs(5);
    while ground.database.statements() == 0 {
        assert!(Instant::now() < end, "no statement ever waited for the lock");
    }
    ground.proxy.set(Mode::BlackHole);
    holder.wait().unwrap();
    ground.proxy.set(Mode::Pass);
}

fn refuse_logins(ground: &Ground) {
    let database = &ground.database;
    let (lock, unlock) = match database.kind {
        Kind::Postgres => (format!("ALTER ROLE {READER} NOLOGIN"), format!("ALTER ROLE {READER} LOGIN")),
        Kind::MariaDb => {
            let all = |what: &str| {
                format!("ALTER USER {READER}@'%' ACCOUNT {what}; ALTER USER {READER}@localhost ACCOUNT {what}")
            };
            (all("LOCK"), all("UNLOCK"))
        }
    };
    database.sql(&lock);
    database.end_connections();
    last(FAULT);
    database.sql(&unlock);
}

/// PostgreSQL says "too many connections" (53300) of a role as of the whole server, whose own limit takes a restart.
fn fill_up(ground: &Ground) {
    let database = &ground.database;
    if database.kind == Kind::Postgres {
        database.sql(&format!("ALTER ROLE {READER} CONNECTION LIMIT 0"));
        database.end_connections();
        last(FAULT);
        database.sql(&format!("ALTER ROLE {READER} CONNECTION LIMIT -1"));
        return;
    }
    // Ten is the least that MariaDB can be told.
    let others = Handle::current().block_on(async {
        let mut others = Vec::new();
        for _ in 0..10 {
            others.push(MySqlConnection::connect(&database.owner_url()).await.unwrap());
        }
        others
    });
    // In one session: the administrator gets no other one meanwhile.
    let seconds = FAULT.as_secs();
    database.sql(&format!(
        "SET GLOBAL max_connections = 10; KILL USER {READER}; SELECT sleep({seconds}); SET GLOBAL max_connections = 60"
    ));
    drop(others);
}

/// A program that holds the table for a while, against readers too.
fn lock(database: &Database, time: Duration) -> Child {
    let seconds = time.as_secs();
    let sql = match database.kind {
        Kind::Postgres => format!("BEGIN; LOCK TABLE credgate_nodes; SELECT pg_sleep({seconds}); COMMIT"),
        Kind::MariaDb => format!("LOCK TABLES credgate_nodes WRITE; SELECT sleep({seconds}); UNLOCK TABLES"),
    };
    let mut command = database.client("credgate");
    command.arg(sql).stdout(std::process::Stdio::null());
    command.spawn().unwrap()
}
