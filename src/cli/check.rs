//! `credgate check-config`: everything that is wrong, in one list, before anything is restarted.

use std::path::Path;

use clap::Args;
use credgate_provider::{Deadline, Effective, Kind, Problem};

use super::{
    Configured, Exit,
    print::{err, out},
};
use crate::{app, config};

#[derive(Args, Debug)]
pub struct CheckConfig {
    #[command(flatten)]
    configured: Configured,
    /// Open the credential store too: network, database, plugin
    #[arg(long)]
    open: bool,
}

pub const EXAMPLES: &str = "\
Every problem is told in one run, with file, line and key. Then the settings that may be shown, with the default of those that
differ: numbers, durations, switches, addresses; never names, paths or URLs.

Examples:
  credgate check-config --config credgate.toml           before every restart
  credgate check-config --config credgate.toml --open    asks the store too: network, database, plugin

Exit codes: 0 good, 69 the store does not open, 78 something is wrong";

impl CheckConfig {
    pub fn run(self, kinds: &[Box<dyn Kind>]) -> Exit {
        let path = &self.configured.config;
        let config = match load(path, kinds) {
            Ok(config) => config,
            Err(exit) => return exit,
        };
        list("warning", &config.warnings);
        let (budget, close) = (config.shutdown.total(), config.shutdown.close);
        let settings = config.settings;
        if self.open {
            let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() else {
                err!("credgate: the system gives no resources for threads");
                return Exit::Failure;
            };
            let opened = runtime.block_on(async {
                let provider = app::open(config.provider).await?;
                let checked = provider.check(Deadline::after(config.health.timeout)).await;
                let summary = provider.summary();
                // How it closes is nothing to judge here, and nothing to wait for.
                let _ = tokio::time::timeout(close, provider.close()).await;
                checked.map(|()| summary).map_err(app::NotOpen::from)
            });
            runtime.shutdown_background();
            match opened {
                Ok(summary) => out!("{}: good, and the credential store opens\n{summary}", path.display()),
                Err(error) => {
                    err!("credgate: {}: the credential store does not open: {error}", path.display());
                    return error.exit();
                }
            }
        } else {
            out!("{}: good", path.display());
        }
        settings.iter().for_each(show);
        out!("stops within {} of SIGTERM", humantime::format_duration(budget));
        Exit::Clean
    }
}

/// Text is never among them: names, paths and URLs stay in the file.
fn show(setting: &Effective) {
    match &setting.default {
        Some(default) if setting.is_changed() => out!("  {setting}   (default {default})"),
        _ => out!("  {setting}"),
    }
}

/// Loads a configuration; what is wrong with it goes to standard error. The warnings of a good one are the caller's to
/// tell.
pub fn load(path: &Path, kinds: &[Box<dyn Kind>]) -> Result<config::Config, Exit> {
    match config::load(path, kinds) {
        Ok(config) => Ok(config),
        Err(refused) => {
            list("warning", &refused.warnings);
            list("error", &refused.problems);
            let count = refused.problems.len();
            err!("credgate: {}: {count} problem{} to solve", path.display(), if count == 1 { "" } else { "s" });
            Err(Exit::Configuration)
        }
    }
}

pub fn list(word: &str, problems: &[Problem]) {
    for problem in problems {
        err!("{word}: {problem}");
    }
}
