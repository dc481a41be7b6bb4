//! The few calls that pyo3 does not wrap: starting an isolated interpreter, whose handlers the signals have, and ending
//! the process without running anybody's exit handlers. Nothing else here is unsafe, and nothing else may be.

#![expect(unsafe_code, reason = "C functions of libpython and libc that no safe crate offers")]

use std::{
    ffi::{CStr, CString, c_int},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use pyo3::ffi::{
    Py_InitializeFromConfig, Py_PreInitialize, PyConfig, PyConfig_Clear, PyConfig_InitIsolatedConfig,
    PyConfig_SetBytesString, PyEval_SaveThread, PyPreConfig, PyPreConfig_InitIsolatedConfig, PyStatus,
    PyStatus_Exception,
};

/// Starts the interpreter for the calling thread, which becomes Python's main thread, and lets go of it again. Call it
/// once in a process. `executable` decides prefix and search path; nothing of the environment does.
pub(crate) fn initialise(executable: &Path) -> Result<(), String> {
    let executable = CString::new(executable.as_os_str().as_bytes()).map_err(|_| "a path holds a zero byte")?;
    // SAFETY: both structures are plain data that their init functions fill before anything reads them; pointers into
    // them live for the calls; the interpreter is not running yet, and this thread holds its lock until it is saved.
    unsafe {
        let mut before = MaybeUninit::<PyPreConfig>::zeroed();
        PyPreConfig_InitIsolatedConfig(before.as_mut_ptr());
        // Files are UTF-8 whatever locale the service manager sets.
        (*before.as_mut_ptr()).utf8_mode = 1;
        judge(Py_PreInitialize(before.as_ptr()))?;
        let mut config = MaybeUninit::<PyConfig>::zeroed();
        PyConfig_InitIsolatedConfig(config.as_mut_ptr());
        let pointer = config.as_mut_ptr();
        (*pointer).install_signal_handlers = 0;
        (*pointer).write_bytecode = 0;
        let set = judge(PyConfig_SetBytesString(pointer, &raw mut (*pointer).executable, executable.as_ptr()))
            .and_then(|()| judge(Py_InitializeFromConfig(pointer)));
        PyConfig_Clear(pointer);
        set?;
        // The thread state stays with this thread, which never ends.
        PyEval_SaveThread();
    }
    Ok(())
}

unsafe fn judge(status: PyStatus) -> Result<(), String> {
    // SAFETY: takes the structure by value.
    if unsafe { PyStatus_Exception(status) } == 0 {
        return Ok(());
    }
    if status.err_msg.is_null() {
        return Err("no reason given".into());
    }
    // SAFETY: Python's status messages are static C strings.
    Err(unsafe { CStr::from_ptr(status.err_msg) }.to_string_lossy().into_owned())
}

/// What the process does on a signal.
#[derive(Clone, Copy)]
pub(crate) struct Disposition(libc::sigaction);

impl Disposition {
    /// What it does now.
    pub(crate) fn now(signal: c_int) -> Option<Self> {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: only reads the present action into memory of the right type; zeroes are valid for it.
        let read = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: written by the call, and zeroed before.
        (read == 0).then(|| Self(unsafe { action.assume_init() }))
    }

    /// Whether both call the same function.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.sa_sigaction == other.0.sa_sigaction
    }

    /// Makes it the one that counts.
    pub(crate) fn restore(&self, signal: c_int) {
        // SAFETY: the action was valid when it was read, and handlers are functions of this program that stay.
        unsafe { libc::sigaction(signal, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Ends the process now, running no exit handlers.
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(code.into()) }
}
