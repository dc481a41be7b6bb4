//! `credgate.toml` as a value that tests change key by key, or spoil with any text.

use toml::{Table, Value};

use super::Security;

/// The configuration file.
#[derive(Clone, Debug)]
pub struct Config {
    table: Table,
    appended: String,
}

impl Config {
    /// Three listeners on port 0, JSON log, `nodes.csv`, no identity yet.
    pub fn sample(security: Security) -> Self {
        let mut config = Self { table: Table::new(), appended: String::new() };
        config.merge(SAMPLE);
        match security {
            Security::Mtls => config.set("tls.client_ca", "ca.pem"),
            Security::Token => {}
            Security::Plaintext => {
                config.remove("tls");
                config.set("tls.insecure_plaintext", true);
            }
        }
        config
    }

    /// Sets one key, making the tables on the way. A number in the path is an index: `identity.0.san`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let (parent, last) = key.rsplit_once('.').unwrap_or(("", key));
        self.table_at(parent).insert(last.into(), value.into());
    }

    /// Removes one key or table; it need not be there.
    pub fn remove(&mut self, key: &str) {
        let (parent, last) = key.rsplit_once('.').unwrap_or(("", key));
        self.table_at(parent).remove(last);
    }

    /// Adds one table to a list: `[[identity]]`.
    pub fn push(&mut self, key: &str, table: Table) {
        let list = self.table.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut().unwrap_or_else(|| panic!("{key} is no list")).push(table.into());
    }

    /// Merges TOML text, table by table; other values are replaced.
    pub fn merge(&mut self, text: &str) {
        let more: Table = text.parse().unwrap_or_else(|error| panic!("the test's own TOML: {error}"));
        merge(&mut self.table, more);
    }

    /// Appends text as it is: wrong TOML too.
    pub fn append(&mut self, text: &str) {
        self.appended.push_str(text);
    }

    /// The file's text.
    pub fn text(&self) -> String {
        format!("{}{}", toml::to_string(&self.table).unwrap(), self.appended)
    }

    fn table_at(&mut self, path: &str) -> &mut Table {
        let mut table = &mut self.table;
        let mut steps = path.split('.').filter(|step| !step.is_empty()).peekable();
        while let Some(step) = steps.next() {
            let mut value = table.entry(step).or_insert_with(|| Table::new().into());
            if let Some(index) = steps.next_if(|next| next.bytes().all(|byte| byte.is_ascii_digit())) {
                value = value.get_mut(index.parse::<usize>().unwrap()).unwrap_or_else(|| panic!("no {path}"));
            }
            table = value.as_table_mut().unwrap_or_else(|| panic!("{step} of {path} is no table"));
        }
        table
    }
}

fn merge(into: &mut Table, more: Table) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

const SAMPLE: &str = r#"
[lookup]
listen = "127.0.0.1:0"
[control]
listen = "127.0.0.1:0"
[metrics]
listen = "127.0.0.1:0"
[tls]
cert = "server.pem"
key = "server.key"
[provider]
kind = "csv"
[provider.csv]
path = "nodes.csv"
[log]
format = "json"
level = "info"
"#;
