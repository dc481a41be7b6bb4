//! Provider: credentials from a SQL database
