//! What a caller says about its gateway, and everything that is wrong with it in one list.

use std::{fmt, path::PathBuf};

use credgate_files::FileError;

/// One gateway and the identity to show it. Paths are read by [`Endpoint::prepare`](crate::Endpoint::prepare).
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `HOST:PORT`, `IPV4:PORT` or `[IPV6]:PORT`.
    pub address: String,
    /// CA certificates (PEM) one of which signed the gateway's certificate. Required unless `plaintext`.
    pub ca: Option<PathBuf>,
    /// Client certificate chain (PEM), for a gateway with `tls.client_ca`. Goes with `key`.
    pub cert: Option<PathBuf>,
    /// Its private key (PEM). Goes with `cert`.
    pub key: Option<PathBuf>,
    /// The name the gateway's certificate must carry; by default the host of `address`.
    pub server_name: Option<String>,
    /// File with the bearer token.
    pub token_file: PathBuf,
    /// No TLS at all: for a loopback address only, since the token and the passwords are then readable on the way.
    pub plaintext: bool,
}

/// Why an endpoint could not be prepared: every problem of the settings and their files, at least one.
#[derive(Debug)]
pub struct PrepareError(Vec<Problem>);

/// One thing that is wrong, in a sentence that names the setting or the file and never a secret.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A setting, or two that contradict each other.
    #[error("{setting}: {text}")]
    Setting {
        /// The field of [`Settings`].
        setting: &'static str,
        /// What is wrong with it and what to do.
        text: String,
    },
    /// A file that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Problem {
    pub(crate) fn setting(setting: &'static str, text: impl Into<String>) -> Self {
        Self::Setting { setting, text: text.into() }
    }
}

impl PrepareError {
    pub(crate) fn new(problems: Vec<Problem>) -> Self {
        Self(problems)
    }

    /// The problems, in the order of the settings.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

/// All problems on one line, separated by semicolons.
impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PrepareError {}
