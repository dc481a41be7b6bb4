//! opening
