//! Numbers that a provider shows of itself on the metrics page: connections that are idle, rows that are loaded.

/// One number, at this moment. The gateway puts its own prefix and the kind before the name: `connections_idle` of the
/// kind `sql` becomes `credgate_sql_connections_idle`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Lower-case letters, digits and `_`. A counter's ends without `_total`, which the gateway adds.
    pub name: &'static str,
    /// One phrase for the page.
    pub help: &'static str,
    /// What it is now.
    pub value: u64,
    /// Whether it only ever grows.
    pub counts: bool,
}

impl Number {
    /// One that goes up and down.
    pub fn gauge(name: &'static str, help: &'static str, value: usize) -> Self {
        Self { name, help, value: value as u64, counts: false }
    }

    /// One that only grows, as long as the gateway runs.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, value, counts: true }
    }

    /// Whether the name can stand on the page.
    pub fn is_well_named(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        (1..=60).contains(&self.name.len()) && self.name.bytes().all(plain) && !self.name.ends_with("_total")
    }
}
