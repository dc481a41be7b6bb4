//! The return contract: what comes back from a plugin's `lookup`, judged while it is still a Python object.
//!
//! One rule decides the doubtful cases: nothing but `None`, a disabled record or a record of another node may become
//! "no such node". A wrong type is a defect of the plugin, a `str` that is no usable password a corrupt record.

use credgate_provider::{Detail, NodeId, Password, PasswordRule, ProviderError, parse_enabled};
use pyo3::{
    exceptions::PyOSError,
    prelude::*,
    types::{PyBool, PyInt, PyString, PyType},
};

use crate::{fault::describe, ffi};

/// What is needed to judge: the types of the module `credgate`, and the rule for passwords.
pub(crate) struct Judge {
    credential: Py<PyType>,
    unavailable: Py<PyType>,
    disabled: Py<PyType>,
    corrupt: Py<PyType>,
    passwords: PasswordRule,
    /// The plugin's own file, to say where in it an exception came from.
    pub(crate) file: Option<String>,
    process: u32,
}

impl Judge {
    pub(crate) fn new(credgate: &Bound<'_, PyModule>, passwords: PasswordRule, file: Option<String>) -> PyResult<Self> {
        let class = |name| -> PyResult<Py<PyType>> { Ok(credgate.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        Ok(Self {
            credential: class("Credential")?,
            unavailable: class("Unavailable")?,
            disabled: class("Disabled")?,
            corrupt: class("Corrupt")?,
            passwords,
            file,
            process: std::process::id(),
        })
    }

    /// The ending of one lookup.
    pub(crate) fn lookup(
        &self,
        node: &NodeId,
        returned: PyResult<Bound<'_, PyAny>>,
        py: Python<'_>,
    ) -> Result<Option<Password>, ProviderError> {
        if std::process::id() != self.process {
            // The plugin forked, and this is the copy: it has no other thread, shares our sockets and must not answer.
            ffi::exit(1);
        }
        let value = match returned {
            Ok(value) => value,
            Err(error) if error.is_instance(py, self.disabled.bind(py)) => return Ok(None),
            Err(error) => return Err(self.raised(py, &error)),
        };
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return self.password(text).map(Some);
        }
        if value.get_type().is_subclass(self.credential.bind(py)).unwrap_or(false) {
            return self.credential(node, &value);
        }
        Err(wrong_type(&value))
    }

    /// The ending of a check: `None` and `True` are good, `False` is an outage.
    pub(crate) fn check(&self, returned: PyResult<Bound<'_, PyAny>>, py: Python<'_>) -> Result<(), ProviderError> {
        let value = returned.map_err(|error| self.raised(py, &error))?;
        match value.cast::<PyBool>() {
            Ok(truth) if truth.is_true() => Ok(()),
            Ok(_) => Err(ProviderError::Unavailable("check() returned False".into())),
            Err(_) if value.is_none() => Ok(()),
            Err(_) => Err(wrong_type(&value)),
        }
    }

    /// What an exception says.
    pub(crate) fn raised(&self, py: Python<'_>, error: &PyErr) -> ProviderError {
        let detail = Detail::new(format!("the plugin raised {}", describe(py, error, self.file.as_deref())));
        if error.is_instance(py, self.corrupt.bind(py)) {
            ProviderError::Corrupt(detail)
        } else if self.is_outage(py, error) {
            ProviderError::Unavailable(detail)
        } else {
            ProviderError::Defect(detail)
        }
    }

    /// `credgate.Unavailable`, and `OSError` with all that derive from it: `TimeoutError`, `ConnectionError`.
    pub(crate) fn is_outage(&self, py: Python<'_>, error: &PyErr) -> bool {
        error.is_instance(py, self.unavailable.bind(py)) || error.is_instance_of::<PyOSError>(py)
    }

    /// The text itself; no method of a subclass of `str` is called.
    fn password(&self, text: &Bound<'_, PyString>) -> Result<Password, ProviderError> {
        let Ok(text) = text.to_str() else {
            return Err(corrupt("the password holds lone surrogates, which are no text"));
        };
        self.passwords.parse(text.as_bytes()).map_err(|fault| corrupt(&fault.to_string()))
    }

    fn credential(&self, node: &NodeId, value: &Bound<'_, PyAny>) -> Result<Option<Password>, ProviderError> {
        let field = |name| value.getattr(name).map_err(|error| self.raised(value.py(), &error));
        let own = field("node_id")?;
        if !own.is_none() {
            let own = own.cast::<PyString>().map_err(|_| wrong_field("node_id", &own))?;
            if own.to_str().ok() != Some(node.as_str()) {
                return Ok(None);
            }
        }
        if !enabled(&field("enabled")?)? {
            return Ok(None);
        }
        let password = field("password")?;
        if password.is_none() {
            return Err(corrupt("the credential has no password"));
        }
        let password = password.cast::<PyString>().map_err(|_| wrong_field("password", &password))?;
        self.password(password).map(Some)
    }
}

fn enabled(value: &Bound<'_, PyAny>) -> Result<bool, ProviderError> {
    let known = if let Ok(truth) = value.cast::<PyBool>() {
        Some(truth.is_true())
    } else if let Ok(word) = value.cast::<PyString>() {
        word.to_str().ok().and_then(parse_enabled)
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        number.extract::<i64>().ok().and_then(|number| [false, true].get(usize::try_from(number).ok()?).copied())
    } else {
        None
    };
    known.ok_or_else(|| corrupt("the credential's enabled is neither true nor false"))
}

fn corrupt(text: &str) -> ProviderError {
    ProviderError::Corrupt(text.into())
}

fn wrong_type(value: &Bound<'_, PyAny>) -> ProviderError {
    let name = type_name(value);
    if name == "coroutine" {
        // Not awaited by anybody: closing it keeps Python from saying so.
        let _ = value.call_method0("close");
        return ProviderError::Defect("a plain function returned a coroutine; declare it async def".into());
    }
    ProviderError::Defect(Detail::new(format!("the plugin returned a value of type {name}")))
}

fn wrong_field(field: &str, value: &Bound<'_, PyAny>) -> ProviderError {
    ProviderError::Defect(Detail::new(format!("the credential's {field} is of type {}", type_name(value))))
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().ok().and_then(|name| name.extract().ok()).unwrap_or_else(|| "unknown".into())
}
