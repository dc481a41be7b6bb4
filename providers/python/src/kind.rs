//! The kind `python`, and opening what its settings name.

use credgate_provider::{
    BoxFuture, Deadline, Kind, OpenError, PasswordRule, Prepared, Provider, Report, Site, settings::Section,
};
use futures::FutureExt;

use crate::{
    check::Checker,
    interpreter::Interpreter,
    provider::PythonProvider,
    settings::{self, Settings},
};

/// The kind `python`: a module of the operator's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct PythonKind;

impl Kind for PythonKind {
    fn name(&self) -> &'static str {
        "python"
    }

    fn prepare(&self, settings: &Section<'_>, site: &Site, report: &Report) -> Option<Box<dyn Prepared>> {
        let settings = settings::read(settings, site, report)?;
        Some(Box::new(PreparedPython { settings, passwords: site.passwords }))
    }
}

#[derive(Debug)]
struct PreparedPython {
    settings: Settings,
    passwords: PasswordRule,
}

impl Prepared for PreparedPython {
    fn slots(&self) -> usize {
        self.settings.workers
    }

    /// Not bounded here: a start that hangs leaves its thread behind, and the gateway ends with `open_timeout`.
    fn open(self: Box<Self>, _deadline: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>> {
        async move {
            let workers = self.settings.workers;
            let interpreter = Interpreter::start(&self.settings).await?;
            let (checker, plugin) = Checker::start(interpreter, self.settings, self.passwords).await?;
            let provider = PythonProvider::start(checker, plugin, workers)?;
            Ok(Box::new(provider) as Box<dyn Provider>)
        }
        .boxed()
    }
}
