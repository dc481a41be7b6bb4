//! TOML values with the line they stand on, and the types a setting can have.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The keys of one table.
pub type Table = BTreeMap<String, Entry>;

/// A value and its line.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Counted from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// true or false.
    Boolean(bool),
    /// A date or time, as it is written.
    Datetime(String),
    /// A list.
    Array(Vec<Entry>),
    /// A table.
    Table(Table),
}

/// A type that a setting can have.
pub trait Setting: Sized {
    /// What is expected, as the end of "expected …".
    const EXPECTED: &'static str;

    /// Reads it, or says what was expected. Never shows the value.
    fn read(value: &Value) -> Result<Self, String>;

    /// The value, where a value of this type may be shown to everybody. Text never is, since it can be a secret.
    fn shown(&self) -> Option<String> {
        None
    }

    /// A bound of its range, as it would stand in the file.
    fn show(&self) -> String
    where
        Self: std::fmt::Debug,
    {
        format!("{self:?}")
    }

    /// The usual sentence.
    fn unexpected() -> String {
        format!("expected {}", Self::EXPECTED)
    }
}

/// Parses a document: what could be read, and the line and text of each syntax error.
pub fn parse(text: &str) -> (Table, Vec<(usize, String)>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::of(text);
    let errors = errors
        .iter()
        .map(|error| (error.span().map_or(1, |span| lines.at(span.start)), error.message().to_owned()))
        .collect();
    (lines.table(table.get_ref()), errors)
}

/// Where each line begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        table
            .iter()
            .map(|(key, value)| {
                let line = self.at(key.span().start);
                (key.get_ref().to_string(), Entry { line, value: self.value(value) })
            })
            .collect()
    }

    fn value(&self, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Value::Integer(number),
                // Beyond 64 bits: no setting takes it as a number of either kind.
                Err(_) => Value::Float(f64::INFINITY),
            },
            DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(truth) => Value::Boolean(*truth),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Array(values) => Value::Array(
                values
                    .iter()
                    .map(|value| Entry { line: self.at(value.span().start), value: self.value(value) })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table)),
        }
    }
}

impl Setting for String {
    const EXPECTED: &'static str = "text";

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(Self::unexpected()),
        }
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Boolean(truth) => Ok(*truth),
            _ => Err(Self::unexpected()),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for u64 {
    const EXPECTED: &'static str = "a whole number";

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(number) => Self::try_from(*number).map_err(|_| "must not be negative".to_owned()),
            _ => Err(Self::unexpected()),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for u32 {
    const EXPECTED: &'static str = u64::EXPECTED;

    fn read(value: &Value) -> Result<Self, String> {
        u64::read(value)?.try_into().map_err(|_| format!("is too large; the most is {}", Self::MAX))
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for usize {
    const EXPECTED: &'static str = u64::EXPECTED;

    fn read(value: &Value) -> Result<Self, String> {
        u64::read(value)?.try_into().map_err(|_| "is too large".to_owned())
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for Duration {
    const EXPECTED: &'static str = "a duration in quotes, such as \"500ms\", \"2s\" or \"15m\"";

    fn read(value: &Value) -> Result<Self, String> {
        let Value::String(text) = value else { return Err(Self::unexpected()) };
        humantime::parse_duration(text).map_err(|_| Self::unexpected())
    }

    fn show(&self) -> String {
        humantime::format_duration(*self).to_string()
    }

    fn shown(&self) -> Option<String> {
        Some(self.show())
    }
}

impl Setting for SocketAddr {
    const EXPECTED: &'static str = "an address and port, such as \"127.0.0.1:7443\" or \"[::]:7443\"";

    fn read(value: &Value) -> Result<Self, String> {
        let Value::String(text) = value else { return Err(Self::unexpected()) };
        text.parse().map_err(|_| Self::unexpected())
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl<T: Setting> Setting for Vec<T> {
    const EXPECTED: &'static str = "a list in brackets";

    fn read(value: &Value) -> Result<Self, String> {
        let Value::Array(entries) = value else { return Err(Self::unexpected()) };
        entries
            .iter()
            .enumerate()
            .map(|(index, entry)| T::read(&entry.value).map_err(|text| format!("entry {}: {text}", index + 1)))
            .collect()
    }
}

/// A table of any shape, for those who hand it on.
impl Setting for Table {
    const EXPECTED: &'static str = "a table";

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Table(table) => Ok(table.clone()),
            _ => Err(Self::unexpected()),
        }
    }
}
