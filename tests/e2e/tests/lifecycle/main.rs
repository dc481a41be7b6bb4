//! The life of a gateway, tried on its real executables: outages, stuck work, a supervisor, signals, rotation of every
//! secret, rolling restarts.
//!
//! The basics of start, health and drain are tested in `contract`. Reading order: `ground` (the few words all modules
//! use) and `replicas` (two gateways that restart), then any.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod ground;
mod notify_socket;
mod replicas;

mod blocked;
mod conformance;
mod conformance_python;
mod no_outage;
mod outage;
mod rolling;
mod rotation;
mod signals;
mod store_lost;
mod stuck;
mod supervisor;
mod unit_file;
mod watch;
