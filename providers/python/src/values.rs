//! What stands in `config`, as Python values.

use credgate_provider::settings::{Table, Value};
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};

/// Finds what would arrive as something else than what was written.
pub(crate) fn judge(table: &Table) -> Result<(), &'static str> {
    table.values().try_for_each(|entry| judge_value(&entry.value))
}

fn judge_value(value: &Value) -> Result<(), &'static str> {
    match value {
        Value::Float(number) if number.is_infinite() => {
            Err("holds a number that is infinite or beyond 64 bits; write it as text")
        }
        Value::Array(entries) => entries.iter().try_for_each(|entry| judge_value(&entry.value)),
        Value::Table(table) => judge(table),
        _ => Ok(()),
    }
}

/// Makes the values. `when` reads a date or time.
pub(crate) fn table<'py>(py: Python<'py>, table: &Table, when: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, entry) in table {
        dict.set_item(key, value(py, &entry.value, when)?)?;
    }
    Ok(dict)
}

fn value<'py>(py: Python<'py>, value: &Value, when: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(text) => when.call1((text,))?,
        Value::Array(entries) => {
            let list = PyList::empty(py);
            for entry in entries {
                list.append(self::value(py, &entry.value, when)?)?;
            }
            list.into_any()
        }
        Value::Table(inner) => table(py, inner, when)?.into_any(),
    })
}
