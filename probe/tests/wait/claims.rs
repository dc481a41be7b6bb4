//! "Releasing the placement claim goes through the registry's commit, which reapplies it only after a lost race and
//! answers every other failure as it is."

use std::{
    fs::{self, File},
    net::SocketAddr,
    os::unix::fs::{PermissionsExt, symlink},
};

use credgate_support::process::Process;

use crate::ground::{Ground, Unit, ended, page, place, told};

const CLAIMS: &str = "# who replaces what\n\ngate maria 2026-11-30\nother cron\n";

/// A wait with `--claim`, open until [`Wait::serve`].
struct Wait {
    ground: Ground,
    unit: Unit,
    process: Process,
}

impl Wait {
    fn begin(claims: &str) -> Self {
        let (ground, address) = (Ground::new(), SocketAddr::new(place(), 7444));
        let unit = Unit::start([format!("listen {address} 503"), "wait".to_owned()]);
        let starting = Unit::start(["wait".to_owned(), format!("listen {}:7445 200", address.ip())]);
        drop(unit);
        ground.says_running("gate", &starting.0);
        ground.file("claims", claims);
        let mut words = page("gate", SocketAddr::new(address.ip(), 7445)).to_vec();
        words.extend(["--claim".into(), ground.path("claims").display().to_string()]);
        let process = ground.wait(words);
        Self { ground, unit: starting, process }
    }

    fn open(claims: &str) -> Self {
        let wait = Self::begin(claims);
        told(&wait.process, "does not listen on port 7445 yet");
        wait
    }

    fn claims(&self) -> String {
        fs::read_to_string(self.ground.path("claims")).unwrap()
    }

    /// As any other program changes the file.
    fn change(&self, claims: &str) {
        fs::rename(self.ground.file("claims.other", claims), self.ground.path("claims")).unwrap();
    }
}

#[test]
fn a_claim_is_released_when_all_serve() {
    let wait = Wait::open(CLAIMS);
    fs::set_permissions(wait.ground.path("claims"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(wait.claims(), CLAIMS, "not before");
    wait.unit.go_on();
    let lines = ended(&wait.process).served();
    assert_eq!(lines.last(), Some(&format!("{}: released", wait.ground.path("claims").display())));
    assert_eq!(wait.claims(), "# who replaces what\n\nother cron\n");
    let mode = fs::metadata(wait.ground.path("claims")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// Somebody else's change came first: the release is made again, on what stands there now.
#[test]
fn a_lost_race_is_run_again() {
    let wait = Wait::open(CLAIMS);
    wait.change("gate maria 2026-11-30\nother cron\nthird ada\n");
    wait.unit.go_on();
    let lines = ended(&wait.process).served();
    let again = format!("{} has changed meanwhile; the claim is released again", wait.ground.path("claims").display());
    assert_eq!(lines.iter().filter(|line| **line == again).count(), 1, "{lines:?}");
    assert_eq!(wait.claims(), "other cron\nthird ada\n");
}

/// While somebody holds the lock nothing is compared; what he writes before he lets go is a lost race.
#[test]
fn the_comparison_waits_for_the_lock() {
    let wait = Wait::open(CLAIMS);
    let lock = File::create(wait.ground.path("claims.lock")).unwrap();
    lock.lock().unwrap();
    wait.unit.go_on();
    told(&wait.process, "claims.lock is locked; waiting for it");
    wait.change("gate maria 2026-11-30\n");
    lock.unlock().unwrap();
    let lines = ended(&wait.process).served();
    assert!(lines.iter().any(|line| line.ends_with("the claim is released again")), "{lines:?}");
    assert_eq!(wait.claims(), "");
}

#[test]
fn every_other_failure_is_answered_as_it_is() {
    for (change, wanted) in [
        (Some("gate cron\n"), "the claim that was 'gate maria 2026-11-30' is not there any more"),
        (Some("other cron\n"), "the claim that was 'gate maria 2026-11-30' is not there any more"),
        (None, "No such file or directory"),
    ] {
        let wait = Wait::open(CLAIMS);
        match change {
            Some(change) => wait.change(change),
            None => fs::remove_file(wait.ground.path("claims")).unwrap(),
        }
        wait.unit.go_on();
        let refusal = ended(&wait.process).refusal();
        let beginning =
            format!("all targets serve, but a claim is not released: {}", wait.ground.path("claims").display());
        assert!(refusal.starts_with(&beginning) && refusal.contains(wanted), "{refusal}");
        assert_eq!(change.map(str::to_owned), change.map(|_| wait.claims()), "left as it is");
    }
    // A folder where the new file would stand.
    let wait = Wait::open(CLAIMS);
    fs::create_dir(wait.ground.path("claims.new")).unwrap();
    wait.unit.go_on();
    assert!(ended(&wait.process).refusal().contains("claims.new: Is a directory"));
    assert_eq!(wait.claims(), CLAIMS);
}

/// Root releases claims; whoever may write to their folder must not lead it to a file of its own.
#[test]
fn links_beside_the_claims_lead_nowhere() {
    let wait = Wait::open(CLAIMS);
    let others = wait.ground.file("others", "not a claim\n");
    symlink(&others, wait.ground.path("claims.new")).unwrap();
    wait.unit.go_on();
    ended(&wait.process).served();
    assert_eq!(fs::read_to_string(&others).unwrap(), "not a claim\n");
    assert!(!wait.ground.path("claims").is_symlink());
    assert_eq!(wait.claims(), "# who replaces what\n\nother cron\n");

    let wait = Wait::open(CLAIMS);
    symlink(wait.ground.path("made"), wait.ground.path("claims.lock")).unwrap();
    wait.unit.go_on();
    let refusal = ended(&wait.process).refusal();
    assert!(refusal.contains("claims.lock: Too many levels of symbolic links"), "{refusal}");
    assert!(!wait.ground.path("made").exists());
    assert_eq!(wait.claims(), CLAIMS);
}

/// A claim that is not held is a mistake, and is found before the wait.
#[test]
fn without_a_claim_no_wait_begins() {
    for (claims, wanted) in [
        ("other cron\n# gate maria\n", "0 claims of gate, instead of one"),
        ("gate-2 maria\n", "0 claims of gate, instead of one"),
        ("gate maria\ngate cron\n", "2 claims of gate, instead of one"),
    ] {
        let wait = Wait::begin(claims);
        let refusal = ended(&wait.process).refusal();
        assert_eq!(refusal, format!("{}: {wanted}", wait.ground.path("claims").display()));
    }
    let ground = Ground::new();
    let words = ["await", "--pid", "1", "--addr", "http://127.0.0.1/", "--claim", "/nowhere/claims"];
    assert_eq!(ground.run(words).refusal(), "/nowhere/claims: No such file or directory (os error 2)");
}

/// After a refusal the claim stays with whoever must clean up.
#[test]
fn a_refused_wait_keeps_its_claim() {
    let wait = Wait::open(CLAIMS);
    wait.ground.says_failed("gate");
    drop(wait.unit);
    assert_eq!(ended(&wait.process).code, Some(1));
    assert_eq!(fs::read_to_string(wait.ground.path("claims")).unwrap(), CLAIMS);
}

#[test]
fn a_link_to_the_claims_stays_a_link() {
    let (ground, address) = (Ground::new(), SocketAddr::new(place(), 7444));
    let unit = Unit::start([format!("listen {address} 200")]);
    ground.says_running("gate", &unit.0);
    symlink(ground.file("claims", CLAIMS), ground.path("link")).unwrap();
    let mut words = page("gate", address).to_vec();
    words.extend(["--claim".into(), ground.path("link").display().to_string()]);
    assert_eq!(ended(&ground.wait(words)).code, Some(0));
    assert!(fs::symlink_metadata(ground.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(ground.path("claims")).unwrap(), "# who replaces what\n\nother cron\n");
}
