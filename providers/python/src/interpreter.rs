//! The one interpreter of the process: started isolated, on a thread that never runs anything of a plugin.
//!
//! That thread stays for ever, because Python takes the thread that started it for its main one and the system would
//! give its identity to another. Nothing of the environment decides what is started: no PATH, PYTHONPATH, PYTHONHOME.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use credgate_provider::{Detail, OpenError, Problem};
use pyo3::{
    prelude::*,
    types::{PyCFunction, PyModule},
};
use tokio::sync::{OnceCell, oneshot};

use crate::{
    ffi,
    records::{RECORDS, level},
    settings::Settings,
    signals::Signals,
    venv::{VERSION, own_executable},
};

/// A running interpreter, with our own two modules in it.
pub(crate) struct Interpreter {
    executable: PathBuf,
    /// `src/prelude.py`
    pub(crate) prelude: Py<PyModule>,
    /// The module that plugins import.
    pub(crate) credgate: Py<PyModule>,
    pub(crate) signals: Signals,
}

static STARTED: AtomicBool = AtomicBool::new(false);
static INTERPRETER: OnceCell<Arc<Interpreter>> = OnceCell::const_new();

/// Whether an interpreter was started in this process, successfully or not.
pub(crate) fn is_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

impl Interpreter {
    /// Starts it, or gives the one that runs.
    pub(crate) async fn start(settings: &Settings) -> Result<Arc<Self>, OpenError> {
        let executable = settings.venv.as_ref().map_or_else(|| own_executable().into(), |venv| venv.executable());
        let failed = |text: String| OpenError::Configuration(Problem { place: settings.place.clone(), text });
        let wanted = executable.clone();
        let interpreter = INTERPRETER.get_or_try_init(|| begin(executable)).await.map_err(failed)?;
        if interpreter.executable != wanted {
            return Err(failed("a process has one interpreter, and it runs with another venv".into()));
        }
        Ok(Arc::clone(interpreter))
    }
}

async fn begin(executable: PathBuf) -> Result<Arc<Interpreter>, String> {
    let (ready, started) = oneshot::channel();
    // What has failed once cannot be started again.
    if STARTED.swap(true, Ordering::Relaxed) {
        return Err("Python did not start before, and cannot be started again in this process".into());
    }
    let live = move || {
        let interpreter = interpret(executable);
        let stays = interpreter.is_ok();
        // Nobody waits any more when the gateway has given the start up.
        let _ = ready.send(interpreter);
        if stays {
            loop {
                thread::park();
            }
        }
    };
    thread::Builder::new()
        .name("python".into())
        .spawn(live)
        .map_err(|error| format!("no thread for Python: {error}"))?;
    let started = started.await.map_err(|_| "Python's start ended without a word".to_owned())?;
    started.map(Arc::new).map_err(|error| format!("Python {VERSION} does not start: {error}"))
}

fn interpret(executable: PathBuf) -> Result<Interpreter, String> {
    let signals = Signals::now();
    ffi::initialise(&executable)?;
    Python::attach(|py| {
        let credgate = PyModule::from_code(py, CREDGATE, c"credgate/__init__.py", c"credgate")?.unbind();
        let prelude = PyModule::from_code(py, PRELUDE, c"credgate/prelude.py", c"credgate_prelude")?;
        let printed = PyCFunction::new_closure(py, None, None, |arguments, _| -> PyResult<()> {
            RECORDS.printed(arguments.extract::<(usize,)>()?.0);
            Ok(())
        })?;
        let record = PyCFunction::new_closure(py, None, None, |arguments, _| -> PyResult<()> {
            let (level, logger, text) = arguments.extract::<(i64, String, String)>()?;
            RECORDS.record(u8::try_from(level.clamp(0, 50)).unwrap_or(0), &logger, &text);
            Ok(())
        })?;
        prelude.call_method1("install", (printed, record, Detail::MOST + 1, level()))?;
        Ok(Interpreter { executable, prelude: prelude.unbind(), credgate, signals })
    })
    .map_err(|error: PyErr| format!("its own part fails ({})", Python::attach(|py| crate::fault::kind(py, &error))))
}

/// The same text as the package that authors install for their tests.
const CREDGATE: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
    concat!(include_str!("../package/src/credgate/__init__.py"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => c"",
};
const PRELUDE: &std::ffi::CStr =
    match std::ffi::CStr::from_bytes_with_nul(concat!(include_str!("prelude.py"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };
