//! Provider: credentials from a SQL database, credgate's own schema or one that is there already.
//!
//! ```text
//! settings ──▶ Database ──▶ backend ──┬▶ sqlite ── readers ── source ── connection ── query
//!     (url)                  (enum)   └▶ server ── pool ── link ─┬▶ postgres
//!                              │                                 └▶ mysql
//!                              │
//!                  task: a statement owns its slot and its connection until it has ended, and the RPC only waits
//!                        for its answer; what it leaves behind ends in a task, or on the reader, by itself
//!                              │
//!                  record: at most two rows of the node asked for ──▶ a password, nothing, or a corrupt record
//!                  vacancy: a table of ours without any row is no answer
//!
//! migrate, import ──▶ writer ──▶ sqlite, postgres, mysql: the same steps in each dialect's words
//! ```
//!
//! [`SqlKind`] is what the gateway registers. [`migrate()`], [`migration_sql`] and [`import()`] are what its commands call;
//! only those two write, and only into credgate's own schema.
//!
//! Reading order: `settings`, `task`, `record`, `backend`, then `sqlite` with the files below it, or `server` and a dialect.

mod backend;
mod import;
mod mysql;
mod postgres;
mod provider;
mod record;
mod schema;
mod server;
mod settings;
mod sqlite;
mod task;
mod url;
mod vacancy;
mod writer;

pub use import::{ImportError, ImportMode, Imported, NodeRow, Progress, import};
pub use schema::{MigrateError, Migrated, migrate, migration_sql};
pub use settings::SqlKind;
pub use url::{Database, Dialect};
