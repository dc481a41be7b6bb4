//! The folder provider before the suite that judges every provider.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

use std::{fs, io, path::Path, time::Duration};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Store, Subject, assert_conforms};
use credgate_example_provider::FolderKind;
use credgate_provider::{BoxFuture, Deadline, Kind as _, Provider, Report, Site, settings::Document};
use tempfile::TempDir;

struct Folders;

struct FolderStore {
    provider: Box<dyn Provider>,
    slots: usize,
    base: TempDir,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_conforms() {
    assert_conforms(&Folders).await;
}

impl Subject for Folders {
    fn name(&self) -> String {
        "folder".into()
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        Box::pin(async move {
            let base = tempfile::tempdir().unwrap();
            if let Err(reason) = fill(base.path(), rows) {
                return Made::Impossible(reason);
            }
            let report = Report::default();
            let settings = Document::parse(&base.path().join("credgate.toml"), "path = 'nodes'", &report);
            let site = Site { base: base.path().into(), ..site };
            let prepared = FolderKind.prepare(&settings.root(&report), &site, &report).unwrap();
            let slots = prepared.slots();
            match prepared.open(Deadline::after(Duration::from_secs(1))).await {
                Ok(provider) => Made::Open(Box::new(FolderStore { provider, slots, base })),
                Err(error) => Made::Refused(error.to_string()),
            }
        })
    }
}

impl Store for FolderStore {
    fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn change<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), NotApplicable>> {
        Box::pin(async { fill(self.base.path(), rows) })
    }

    fn disturb(&self, how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        Box::pin(async move {
            match how {
                Disturbance::Refusing => {
                    fs::rename(self.base.path().join("nodes"), self.base.path().join("away")).unwrap();
                    Ok(())
                }
                _ => Err(NotApplicable("a local file system does not hang when a test asks it to")),
            }
        })
    }

    fn heal(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            match fs::rename(self.base.path().join("away"), self.base.path().join("nodes")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        })
    }
}

fn fill(base: &Path, rows: &[Row]) -> Result<(), NotApplicable> {
    let folder = base.join("nodes");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    for row in rows {
        let file = |ending: &str| folder.join(format!("{}.{ending}", row.node_id));
        let Some(password) = &row.password else { return Err(NotApplicable("a file is there or not, and never NULL")) };
        if row.node_id.contains(['/', '\0']) || file("password").exists() {
            return Err(NotApplicable("a folder holds a name once, and no slash in it"));
        }
        fs::write(file("password"), password).unwrap();
        match row.enabled.as_deref() {
            Some("true") => {}
            Some("false") => fs::write(file("disabled"), "").unwrap(),
            _ => return Err(NotApplicable("a node is disabled by a file that is there or not")),
        }
    }
    Ok(())
}
