//! Provider: credentials from one CSV file, read whole at start
