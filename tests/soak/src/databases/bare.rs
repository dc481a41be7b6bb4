//! The loop without a gateway: the statement that it runs, over sqlx's own pools; of SQLite over one connection.

use std::{any::Any, time::Duration};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
};
use rusqlite::{Connection, OpenFlags};
use sqlx::{Row as _, mysql::MySqlPoolOptions, postgres::PgPoolOptions};

use super::{measured, store::Store};

/// Median and 99th of a hundred, every answer right; and the pool: PostgreSQL's processes end with their connections, and
/// their processor time is counted while they live.
pub async fn lookups(
    store: &Store,
    deployment: &Deployment,
    connections: usize,
) -> ((Duration, Duration), Box<dyn Any>) {
    let connections = u32::try_from(connections).unwrap();
    match store {
        Store::Sqlite => sqlite(deployment).await,
        Store::Server(database) if database.kind == Kind::Postgres => postgres(database, deployment, connections).await,
        Store::Server(database) => mariadb(database, deployment, connections).await,
    }
}

/// One connection, and nobody else waits while it is asked.
async fn sqlite(deployment: &Deployment) -> ((Duration, Duration), Box<dyn Any>) {
    let connection =
        Connection::open_with_flags(deployment.path("nodes.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let times = measured(deployment, |node| {
        let sql = "SELECT node_id, password, enabled FROM credgate_nodes WHERE node_id = ?1";
        let connection = &connection;
        async move { connection.prepare_cached(sql).unwrap().query_row([node], |row| row.get(1)).unwrap() }
    })
    .await;
    (times, Box::new(connection))
}

async fn postgres(
    database: &Database,
    deployment: &Deployment,
    connections: u32,
) -> ((Duration, Duration), Box<dyn Any>) {
    let url = database.url(READER, &database.address().to_string());
    let pool = PgPoolOptions::new().max_connections(connections).test_before_acquire(false);
    let pool = pool.connect(&url).await.unwrap();
    let times = measured(deployment, |node| {
        let sql = "SELECT node_id, password, enabled::text FROM credgate_nodes WHERE node_id = $1";
        let pool = &pool;
        async move { sqlx::query(sql).bind(node).fetch_one(pool).await.unwrap().get(1) }
    })
    .await;
    (times, Box::new(pool))
}

async fn mariadb(
    database: &Database,
    deployment: &Deployment,
    connections: u32,
) -> ((Duration, Duration), Box<dyn Any>) {
    let url = database.url(READER, &database.address().to_string());
    let pool = MySqlPoolOptions::new().max_connections(connections).test_before_acquire(false);
    let pool = pool.connect(&url).await.unwrap();
    let times = measured(deployment, |node| {
        let sql = "SELECT node_id, password, enabled FROM credgate_nodes WHERE node_id = ?";
        // A collation _bin makes text bytes.
        let pool = &pool;
        async move { sqlx::query(sql).bind(node).fetch_one(pool).await.unwrap().get_unchecked(1) }
    })
    .await;
    (times, Box::new(pool))
}
