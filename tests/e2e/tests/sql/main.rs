//! A gateway on PostgreSQL and on MariaDB, from `migrate` to outages: what callers, operators and the log see.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod ground;
mod operator;
mod outages;
mod secrets;
