//! Settings of the scripted provider, and opening it.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use credgate_provider::{
    BoxFuture, Deadline, Kind, OpenError, PasswordRule, Prepared, Problem, Provider, Report, Site,
    settings::{Section, Table, Value},
};

use super::{
    behaviour::{Behaviour, Request},
    control,
    provider::ScriptedProvider,
    state::State,
};

/// The kind `scripted`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptedKind;

impl Kind for ScriptedKind {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn prepare(&self, settings: &Section<'_>, site: &Site, _: &Report) -> Option<Box<dyn Prepared>> {
        let state = State::default();
        for (node, entry) in settings.or("nodes", Table::new()) {
            match entry.value {
                Value::String(text) => {
                    state.obey(Request::Node { node, behaviour: Some(Behaviour::Password { text }) });
                }
                _ => settings.problem("nodes", "expected text for every node"),
            }
        }
        for line in settings.or("script", Vec::<String>::new()) {
            match serde_json::from_str(&line) {
                Ok(request) => {
                    state.obey(request);
                }
                Err(error) => settings.problem("script", error),
            }
        }
        let prepared = ScriptedPrepared {
            control: settings.or("control", SocketAddr::from(([127, 0, 0, 1], 0))),
            slots: settings.within("slots", 16, 1..=1_000_000),
            opening: settings.choice("open", &OPENINGS).unwrap_or(Opening::Ok),
            delay: settings.or("open_delay", Duration::ZERO),
            place: settings.place("open"),
            passwords: site.passwords,
            state: Arc::new(state),
        };
        settings.finish();
        Some(Box::new(prepared))
    }
}

struct ScriptedPrepared {
    control: SocketAddr,
    slots: usize,
    opening: Opening,
    delay: Duration,
    place: String,
    passwords: PasswordRule,
    state: Arc<State>,
}

#[derive(Clone, Copy)]
enum Opening {
    Ok,
    Unavailable,
    Configuration,
    Panic,
    Hang,
}

impl Prepared for ScriptedPrepared {
    fn slots(&self) -> usize {
        self.slots
    }

    fn open(self: Box<Self>, _: Deadline) -> BoxFuture<'static, Result<Box<dyn Provider>, OpenError>> {
        Box::pin(async move {
            let address = control::listen(self.control, Arc::clone(&self.state))
                .map_err(|error| OpenError::Unavailable(format!("control socket: {error}").into()))?;
            tracing::info!(listener = "scripted", %address, "listening");
            tokio::time::sleep(self.delay).await;
            match self.opening {
                Opening::Ok => Ok(Box::new(ScriptedProvider::new(self.state, self.passwords)) as Box<dyn Provider>),
                Opening::Unavailable => Err(OpenError::Unavailable("scripted".into())),
                Opening::Configuration => {
                    Err(OpenError::Configuration(Problem { place: self.place, text: "scripted".into() }))
                }
                Opening::Panic => panic!("scripted panic in open"),
                Opening::Hang => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for ScriptedPrepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedPrepared").field("slots", &self.slots).finish_non_exhaustive()
    }
}

const OPENINGS: [(&str, Opening); 5] = [
    ("ok", Opening::Ok),
    ("unavailable", Opening::Unavailable),
    ("configuration", Opening::Configuration),
    ("panic", Opening::Panic),
    ("hang", Opening::Hang),
];
