//! The operator's module: imported, made, and looked at before it is trusted with a lookup.

use std::{fs::canonicalize, sync::Arc};

use credgate_provider::{Detail, OpenError, PasswordRule, Problem};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    answer::Judge,
    event_loop::EventLoop,
    fault::describe,
    interpreter::Interpreter,
    settings::{Module, Settings},
    values,
};

/// A plugin that can be asked.
pub(crate) struct Plugin {
    pub(crate) interpreter: Arc<Interpreter>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) lookup: Function,
    pub(crate) check: Option<Function>,
    pub(crate) close: Option<Function>,
    /// There when anything of the plugin is `async def`.
    pub(crate) event_loop: Option<EventLoop>,
    /// Version, prefix, module file, search path.
    pub(crate) facts: String,
}

/// One of the plugin's functions.
pub(crate) struct Function {
    pub(crate) object: Py<PyAny>,
    pub(crate) is_async: bool,
}

impl Plugin {
    /// Imports and makes it, on the calling thread.
    pub(crate) fn load(
        py: Python<'_>,
        interpreter: Arc<Interpreter>,
        settings: &Settings,
        passwords: PasswordRule,
    ) -> Result<Self, OpenError> {
        let running = Arc::clone(&interpreter);
        let loader = Loader { prelude: running.prelude.bind(py), interpreter: &running, settings };
        let facts = loader.facts()?;
        let (module, file) = loader.import()?;
        let judge = Judge::new(interpreter.credgate.bind(py), passwords, file.clone()).map_err(|e| loader.ours(&e))?;
        let judge = Arc::new(judge);
        let mut event_loop = None;
        let plugin = loader.create(&module, &judge, &mut event_loop)?;
        let lookup = loader.function(&plugin, "lookup")?;
        let lookup = lookup.ok_or_else(|| loader.wrong("what create() returned has no lookup(node_id)"))?;
        let (check, close) = (loader.function(&plugin, "check")?, loader.function(&plugin, "close")?);
        if lookup.is_async || [&check, &close].into_iter().flatten().any(|function| function.is_async) {
            loader.start_loop(&mut event_loop)?;
        }
        if let Some(event_loop) = event_loop.as_ref().filter(|_| lookup.is_async) {
            event_loop.serve(py, &lookup.object, &judge).map_err(|error| loader.ours(&error))?;
        }
        let facts = facts.tell(file.as_deref(), lookup.is_async);
        Ok(Self { interpreter, judge, lookup, check, close, event_loop, facts })
    }
}

impl Function {
    /// Calls it without arguments, on this thread or in the loop; one in the loop is cancelled after `seconds`.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        event_loop: Option<&EventLoop>,
        seconds: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match event_loop {
            Some(event_loop) if self.is_async => {
                event_loop.object.bind(py).call_method1("call", (&self.object, (), seconds))
            }
            _ => self.object.bind(py).call0(),
        }
    }
}

/// The steps of loading, and what to say when one fails.
struct Loader<'a, 'py> {
    prelude: &'a Bound<'py, PyModule>,
    interpreter: &'a Interpreter,
    settings: &'a Settings,
}

/// What the interpreter says of itself.
struct Facts {
    version: String,
    prefix: String,
    path: Vec<String>,
}

impl<'py> Loader<'_, 'py> {
    fn facts(&self) -> Result<Facts, OpenError> {
        let ours = |error: PyErr| self.ours(&error);
        self.prelude.call_method1("search", (&self.settings.path,)).map_err(ours)?;
        let (version, prefix, path) =
            self.prelude.call_method0("facts").and_then(|facts| facts.extract()).map_err(ours)?;
        let facts = Facts { version, prefix, path };
        match &self.settings.venv {
            Some(venv) if canonicalize(&facts.prefix).ok() != canonicalize(&venv.folder).ok() => {
                Err(self.wrong(&format!("the venv is not used: Python's prefix is {}", facts.prefix)))
            }
            _ => Ok(facts),
        }
    }

    fn import(&self) -> Result<(Bound<'py, PyAny>, Option<String>), OpenError> {
        let py = self.prelude.py();
        let (imported, file) = match &self.settings.module {
            Module::File(file) => (self.prelude.call_method1("load", (PLUGIN, file)), Some(file.clone())),
            Module::Dotted(name) => (self.prelude.call_method1("load", (name, py.None())), None),
        };
        let failed = |error: PyErr| self.wrong(&format!("the import raised {}", describe(py, &error, file.as_deref())));
        let module = imported.map_err(failed)?;
        let file = file.or_else(|| module.getattr("__file__").ok()?.extract().ok());
        Ok((module, file))
    }

    fn create(
        &self,
        module: &Bound<'py, PyAny>,
        judge: &Judge,
        event_loop: &mut Option<EventLoop>,
    ) -> Result<Bound<'py, PyAny>, OpenError> {
        let py = self.prelude.py();
        let create = self.function(module, "create")?;
        let create = create.ok_or_else(|| self.wrong("the module has no function create(config)"))?;
        let config = self.config().map_err(|error| self.ours(&error))?;
        let made = if create.is_async {
            let object = self.start_loop(event_loop)?.object.bind(py);
            object.call_method1("call", (&create.object, (config,), py.None()))
        } else {
            create.object.bind(py).call1((config,))
        };
        made.map_err(|error| {
            let text = format!("create() raised {}", describe(py, &error, judge.file.as_deref()));
            if judge.is_outage(py, &error) { OpenError::Unavailable(text.into()) } else { self.wrong(&text) }
        })
    }

    /// `credgate.Config` with what is configured and the contents of the secret files.
    fn config(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.prelude.py();
        let values = values::table(py, &self.settings.config, &self.prelude.getattr("when")?)?;
        let secrets = PyDict::new(py);
        for (name, secret) in &self.settings.secrets {
            secrets.set_item(name, secret.expose())?;
        }
        self.interpreter.credgate.bind(py).getattr("Config")?.call1((values, secrets))
    }

    fn function(&self, object: &Bound<'py, PyAny>, name: &str) -> Result<Option<Function>, OpenError> {
        let found = self.prelude.call_method1("member", (object, name)).map_err(|error| {
            self.wrong(&format!("{name} cannot be looked at: {}", describe(self.prelude.py(), &error, None)))
        })?;
        let (object, is_async, fault): (Option<Py<PyAny>>, bool, Option<String>) =
            found.extract().map_err(|error| self.ours(&error))?;
        match fault {
            Some(fault) => Err(self.wrong(&format!("{name} {fault}"))),
            None => Ok(object.map(|object| Function { object, is_async })),
        }
    }

    fn start_loop<'a>(&self, event_loop: &'a mut Option<EventLoop>) -> Result<&'a EventLoop, OpenError> {
        let started = match event_loop.take() {
            Some(running) => running,
            None => EventLoop::start(self.prelude.py(), self.prelude).map_err(|error| self.ours(&error))?,
        };
        Ok(event_loop.insert(started))
    }

    fn wrong(&self, text: &str) -> OpenError {
        let text = Detail::new(text).to_string();
        OpenError::Configuration(Problem { place: self.settings.place.clone(), text })
    }

    fn ours(&self, error: &PyErr) -> OpenError {
        self.wrong(&format!("the gateway's own Python failed: {}", describe(self.prelude.py(), error, None)))
    }
}

impl Facts {
    fn tell(&self, file: Option<&str>, is_async: bool) -> String {
        format!(
            "Python {}, prefix {}, module {}, lookup is {}, search path {}",
            self.version,
            self.prefix,
            file.unwrap_or("without a file"),
            if is_async { "async def" } else { "def" },
            self.path.join(":")
        )
    }
}

/// The name under which a module from a file is known: never that of another module.
const PLUGIN: &str = "credgate_plugin";
