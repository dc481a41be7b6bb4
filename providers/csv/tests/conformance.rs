//! The csv provider before the suite that judges every provider.

use std::{fs, path::Path, time::Duration};

use credgate_conformance::{Disturbance, Made, NotApplicable, Row, Store, Subject, judge};
use credgate_csv::CsvKind;
use credgate_provider::{BoxFuture, Deadline, Kind, Provider, Report, Site, settings::Document};
use tempfile::TempDir;

struct Csv;

struct CsvStore {
    provider: Box<dyn Provider>,
    slots: usize,
    _folder: TempDir,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_conforms() {
    let verdict = judge(&Csv).await;
    assert!(verdict.failed().is_empty(), "{verdict}");
    let without = verdict.not_applicable();
    assert!(without.iter().all(|check| AFTER_START.contains(check)), "{verdict}");
}

/// What a table in memory cannot be judged by. Everything else must be.
const AFTER_START: &[&str] = &[
    "a change of the store is seen at once",
    "a backend that refuses is an outage, never None",
    "a backend that is silent is an outage within the deadline, never None",
    "a check fails while the backend refuses",
    "a check fails in time while the backend is silent",
    "lookups and checks recover by themselves",
    "a slot is held while its lookup waits",
    "a slot is held by work whose caller has left, and comes back",
    "a slot is held by work past its deadline, and comes back",
    "a check does not wait behind lookups",
    "close ends while the backend is silent",
];

impl Subject for Csv {
    fn name(&self) -> String {
        "csv".into()
    }

    fn make<'a>(&'a self, rows: &'a [Row], site: Site) -> BoxFuture<'a, Made> {
        Box::pin(async move {
            let Ok(folder) = folder_with(rows) else {
                return Made::Impossible(NotApplicable("no folder could be written for the test"));
            };
            let report = Report::default();
            let settings = Document::parse(&folder.path().join("credgate.toml"), "path = 'nodes.csv'", &report);
            let site = Site { base: folder.path().into(), ..site };
            let Some(prepared) = CsvKind.prepare(&settings.root(&report), &site, &report) else {
                return Made::Refused(format!("{:?} {:?}", report.problems(), report.warnings()));
            };
            let slots = prepared.slots();
            match prepared.open(Deadline::after(Duration::from_secs(1))).await {
                Ok(provider) => Made::Open(Box::new(CsvStore { provider, slots, _folder: folder })),
                Err(error) => Made::Refused(error.to_string()),
            }
        })
    }
}

impl Store for CsvStore {
    fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn disturb(&self, _how: Disturbance) -> BoxFuture<'_, Result<(), NotApplicable>> {
        Box::pin(async { Err(NotApplicable("the table is in memory")) })
    }
}

fn folder_with(rows: &[Row]) -> std::io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    write(&folder.path().join("nodes.csv"), rows)?;
    Ok(folder)
}

/// NULL is an empty value, which is as absent as a value in a CSV file can be.
fn write(path: &Path, rows: &[Row]) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["node_id", "password", "enabled"])?;
    for row in rows {
        let (password, enabled) = (row.password.as_deref(), row.enabled.as_deref());
        writer.write_record([
            row.node_id.as_bytes(),
            password.unwrap_or_default(),
            enabled.unwrap_or_default().as_bytes(),
        ])?;
    }
    writer.flush()
}

#[test]
fn what_is_written_for_the_suite_is_what_it_asked_for() {
    let folder = folder_with(&[Row::new("2000", "a,\"b"), Row::new("2001", "c").with_enabled(None)]).unwrap();
    let text = fs::read_to_string(folder.path().join("nodes.csv")).unwrap();
    assert_eq!(text, "node_id,password,enabled\n2000,\"a,\"\"b\",true\n2001,c,\n");
}
