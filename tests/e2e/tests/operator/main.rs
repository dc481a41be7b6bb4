//! What an operator and a foreign client meet: configuration, certificates, files, the command line, other languages.
//!
//! Everything runs the real executables. The outcome table, authentication, capacity, health and drain are tested in
//! `contract`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod canary;
mod canary_starts;
mod certificate_files;
mod certificates;
mod client_certificates;
mod command_line;
mod config_file;
mod config_identities;
mod config_keys;
mod config_listeners;
mod config_provider;
mod config_values;
mod csv_refused;
mod csv_served;
mod documentation;
mod init;
mod many_nodes;
mod mounts;
mod python;
mod python_endings;
mod python_health;
mod refusal;
mod token_files;
