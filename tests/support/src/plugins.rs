//! Python plugins for tests: a deployment that runs one, and one that does whatever its node IDs say.

use toml::Value;

use crate::deployment::Deployment;

impl Deployment {
    /// Answers from this plugin instead of the CSV file.
    pub fn with_python(self, plugin: &str) -> Self {
        self.remove("provider.csv")
            .set("provider.kind", "python")
            .set("provider.python.module", "plugin.py")
            .with_file("plugin.py", plugin)
    }

    /// Answers from the plugin whose node IDs are behaviours: plain functions, or `async def`.
    pub fn with_behaviours(self, is_async: bool) -> Self {
        let config = toml::Table::from_iter([("async".to_owned(), Value::Boolean(is_async))]);
        self.with_python(BEHAVIOURS)
            .set("lookup.node_id.grammar", "token")
            .set("lookup.node_id.max_length", 64)
            .set("provider.python.config", config)
    }
}

/// What a behaviour comes to.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// The node ID to ask for.
    pub node: &'static str,
    /// `OK`, or the line of [`crate::grpc::ending`].
    pub ending: &'static str,
    /// A part of the detail in the gateway's log; empty where nothing is logged.
    pub detail: &'static str,
}

/// The password of every lookup that finds one, and of what must never be seen otherwise.
pub const PASSWORD: &str = "correct-horse-battery";

/// Every behaviour that ends by itself.
pub const TABLE: &[Behaviour] = &[
    ends("returns_str", "OK", ""),
    ends("returns_none", NOT_FOUND, ""),
    ends("returns_empty", CORRUPT, "the password is empty"),
    ends("returns_blanks", CORRUPT, "the password is only spaces"),
    ends("returns_bytes", DEFECT, "returned a value of type bytes"),
    ends("returns_int", DEFECT, "returned a value of type int"),
    ends("returns_true", DEFECT, "returned a value of type bool"),
    ends("returns_dict", DEFECT, "returned a value of type dict"),
    ends("returns_str_subclass", "OK", ""),
    ends("returns_surrogates", CORRUPT, "lone surrogates"),
    ends("returns_megabyte", CORRUPT, "longer than 79 bytes"),
    ends("returns_control", CORRUPT, "not printable ASCII"),
    ends("returns_coroutine", DEFECT, "returned a coroutine; declare it async def"),
    ends("returns_generator", DEFECT, "returned a value of type generator"),
    ends("returns_exception", DEFECT, "returned a value of type Unavailable"),
    ends("credential", "OK", ""),
    ends("credential_disabled", NOT_FOUND, ""),
    ends("credential_disabled_and_broken", NOT_FOUND, ""),
    ends("credential_of_another_node", NOT_FOUND, ""),
    ends("credential_without_password", CORRUPT, "has no password"),
    ends("credential_enabled_none", CORRUPT, "neither true nor false"),
    ends("credential_of_bytes", DEFECT, "password is of type bytes"),
    ends("raises_unavailable", UNAVAILABLE, "raised Unavailable at"),
    ends("raises_timeout", UNAVAILABLE, "raised TimeoutError at"),
    ends("raises_connection", UNAVAILABLE, "raised ConnectionRefusedError at"),
    ends("raises_os_error", UNAVAILABLE, "raised FileNotFoundError at"),
    ends("raises_disabled", NOT_FOUND, ""),
    ends("raises_corrupt", CORRUPT, "raised Corrupt at"),
    ends("raises_key_error", DEFECT, "raised KeyError at"),
    ends("raises_system_exit", DEFECT, "raised SystemExit at"),
    ends("raises_keyboard_interrupt", DEFECT, "raised KeyboardInterrupt at"),
    ends("raises_generator_exit", DEFECT, "raised GeneratorExit at"),
    ends("raises_cancelled", DEFECT, "raised CancelledError at"),
    ends("raises_memory_error", DEFECT, "raised MemoryError at"),
    ends("raises_recursion_error", DEFECT, "raised RecursionError at"),
    ends("raises_base_exception", DEFECT, "raised BaseException at"),
    ends("raises_from_library", DEFECT, "(from json/decoder.py:"),
    ends("text_raises", DEFECT, "raised TextRaises at"),
    ends("text_sleeps", DEFECT, "raised TextSleeps at"),
    ends("text_holds_password", DEFECT, "raised ValueError at"),
    ends("prints_megabyte", "OK", ""),
    ends("logs_password_of_exception", "OK", ""),
    ends("installs_signal_handlers", DEFECT, "raised ValueError at"),
    ends("changes_folder", "OK", ""),
    ends("starts_threads", "OK", ""),
    ends("starts_subprocess", "OK", ""),
    ends("forks", "OK", ""),
];

/// Every behaviour that never ends.
pub const STUCK: [&str; 4] = ["sleeps", "reads_socket", "spins", "holds_lock"];

const fn ends(node: &'static str, ending: &'static str, detail: &'static str) -> Behaviour {
    Behaviour { node, ending, detail }
}

const NOT_FOUND: &str = "NOT_FOUND NODE_NOT_FOUND";
const CORRUPT: &str = "INTERNAL CORRUPT_RECORD";
const DEFECT: &str = "INTERNAL PROVIDER_DEFECT";
const UNAVAILABLE: &str = "UNAVAILABLE BACKEND_UNAVAILABLE";
const BEHAVIOURS: &str = include_str!("plugins/behaviours.py");
