//! End-to-end tests against the real executables
