//! The provider on PostgreSQL and MariaDB: throwaway servers, real SQL, real outages.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

mod conformance;
mod corrupt_rows;
mod deadlines;
mod empty;
mod importing;
mod lookups;
mod migrating;
mod opening;
mod pooler;
mod recipes;
mod recovery;
mod support;
mod tls;
