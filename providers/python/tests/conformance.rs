//! The suite that judges every provider, on a plugin of plain functions and on one of `async def`.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::{fs, path::Path, time::Duration};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Store, Subject, judge};
use credgate_provider::{BoxFuture, Deadline, Kind, Provider, Report, Site, settings::Document};
use credgate_python::PythonKind;
use futures::FutureExt;
use tempfile::TempDir;

struct Plugin {
    is_async: bool,
}

struct Opened {
    provider: Box<dyn Provider>,
    slots: usize,
    folder: TempDir,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_functions_conform() {
    conforms(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_functions_conform() {
    conforms(true).await;
}

async fn conforms(is_async: bool) {
    let verdict = judge(&Plugin { is_async }).await;
    assert!(verdict.failed().is_empty() && verdict.not_applicable().is_empty(), "{verdict}");
}

impl Subject for Plugin {
    fn name(&self) -> String {
        format!("python, async: {}", self.is_async)
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        async move {
            let folder = tempfile::tempdir().unwrap();
            fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store.py"), folder.path().join("store.py"))
                .unwrap();
            write(folder.path(), rows);
            let text = format!(
                "module = 'store.py'\nworkers = 8\nconfig = {{ folder = '{}', async = {} }}",
                folder.path().display(),
                self.is_async
            );
            let report = Report::default();
            let settings = Document::parse(&folder.path().join("credgate.toml"), &text, &report);
            let site = Site { base: folder.path().into(), ..site };
            let prepared = PythonKind.prepare(&settings.root(&report), &site, &report);
            assert!(report.is_clean(), "{:?}", report.problems());
            let prepared = prepared.unwrap();
            let slots = prepared.slots();
            match prepared.open(Deadline::after(Duration::from_secs(60))).await {
                Ok(provider) => Made::Open(Box::new(Opened { provider, slots, folder })),
                Err(error) => Made::Refused(error.to_string()),
            }
        }
        .boxed()
    }
}

/// A lookup must never see half a file.
fn write(folder: &Path, rows: &[Row]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| serde_json::json!({ "node_id": row.node_id, "password": row.password, "enabled": row.enabled }))
        .collect();
    fs::write(folder.join("new.json"), serde_json::to_string(&rows).unwrap()).unwrap();
    fs::rename(folder.join("new.json"), folder.join("rows.json")).unwrap();
}

const WORDS: [(&str, Disturbance); 3] =
    [("refusing", Disturbance::Refusing), ("silent", Disturbance::Silent), ("busy", Disturbance::Busy)];

impl Store for Opened {
    fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn change<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        write(self.folder.path(), rows);
        async { Ok(()) }.boxed()
    }

    fn disturb(&self, how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        let word = WORDS.iter().find(|(_, disturbance)| *disturbance == how).unwrap().0;
        fs::write(self.folder.path().join(word), "").unwrap();
        async { Ok(()) }.boxed()
    }

    fn heal(&self) -> BoxFuture<'_, ()> {
        for (word, _) in WORDS {
            // Most of the time there is nothing to heal.
            let _ = fs::remove_file(self.folder.path().join(word));
        }
        async {}.boxed()
    }

    fn running(&self) -> BoxFuture<'_, Option<usize>> {
        let count = fs::read_dir(self.folder.path().join("running")).unwrap().count();
        async move { Some(count) }.boxed()
    }
}
