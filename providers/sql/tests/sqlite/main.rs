//! The SQL provider on real SQLite files, with the `sqlite3` program as the other process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

mod corrupt_rows;
mod empty;
mod file;
mod importing;
mod lookups;
mod migrating;
mod opening;
mod support;
mod under_load;
