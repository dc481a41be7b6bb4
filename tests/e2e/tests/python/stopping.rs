//! stopping
