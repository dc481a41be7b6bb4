//! The fault matrix: what happens to a database, and what the gateway answers during it and after it.
//!
//! Callers ask without a pause from before a fault until after it. The first table says which statuses they got while it
//! lasted, the slowest and the 99th of a hundred answers then, how long after its end the first right answer came, how
//! many answers were wrong at any time, and how many connections and statements there are afterwards beyond those that
//! there were before. The second one has the cases that are no outage. `SOAK_ONLY=postgres` or `SOAK_ONLY='mariadb login'`
//! runs those rows alone whose provider and fault begin so.

mod cases;
mod file;
mod ground;
mod observed;
mod server;

use credgate_support::database::Kind;
pub use ground::last;

pub fn run() {
    println!(
        "lookup.timeout 2 s, max_connections {}, {} callers, each fault {} s where it says nothing else\n",
        ground::CONNECTIONS,
        observed::CALLERS,
        ground::FAULT.as_secs(),
    );
    println!(
        "| provider | fault | status during it | slowest | p99 | first right answer after | wrong | leaked: connections, \
         statements |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    file::run(&runtime);
    for kind in Kind::ALL {
        server::run(&runtime, kind);
    }
    println!("\n| provider | case | what came of it |\n|---|---|---|");
    for kind in Kind::ALL {
        cases::run(&runtime, kind);
    }
}

/// As the tables call it.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => "postgres",
        Kind::MariaDb => "mariadb",
    }
}

/// Whether `SOAK_ONLY` names this row, or is not set.
pub fn is_wanted(provider: &str, fault: &str) -> bool {
    let row = format!("{provider} {fault}");
    std::env::var("SOAK_ONLY").map_or(true, |only| only.split(',').any(|start| row.starts_with(start)))
}
