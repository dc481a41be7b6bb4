//! The loop without a gateway: sqlx's own pools, and the statement that the gateway runs.

use std::{any::Any, time::Duration};

use credgate_support::{
    database::{Database, Kind, READER},
    deployment::Deployment,
};
use sqlx::{
    Row as _,
    mysql::MySqlPoolOptions,
    postgres::PgPoolOptions,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

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
        Store::Sqlite => sqlite(deployment, connections).await,
        Store::Server(database) if database.kind == Kind::Postgres => postgres(database, deployment, connections).await,
        Store::Server(database) => mariadb(database, deployment, connections).await,
    }
}

async fn sqlite(deployment: &Deployment, connections: u32) -> ((Duration, Duration), Box<dyn Any>) {
    let options = SqliteConnectOptions::new().filename(deployment.path("nodes.db")).read_only(true);
    let pool = SqlitePoolOptions::new().max_connections(connections).test_before_acquire(false);
    let pool = pool.connect_with(options).await.unwrap();
    let times = measured(deployment, |node| {
        let sql = "SELECT node_id, password, enabled FROM credgate_nodes WHERE node_id = ?1";
        let pool = &pool;
        async move { sqlx::query(sql).bind(node).fetch_one(pool).await.unwrap().get(1) }
    })
    .await;
    (times, Box::new(pool))
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
