//! Tests of the licence file with any content.

mod storing;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use pia_identity::Seats as _;
use pia_kernel::Timestamp;
use pia_policy::{Edition, SigningKey, Terms};
use tempfile::TempDir;
use tracing_subscriber::fmt::MakeWriter;

use super::*;

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// A folder, an issuer and a manual clock.
pub(crate) struct TestServer {
    pub(crate) folder: TempDir,
    pub(crate) key: SigningKey,
    pub(crate) clock: FakeClock,
}

#[derive(Clone)]
pub(crate) struct FakeClock(LiveSetting<Timestamp>);

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        *self.0.get()
    }
}

impl FakeClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.set(self.now() + by);
    }
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            key: SigningKey::generate().unwrap(),
            clock: FakeClock(LiveSetting::new(Timestamp::from_micros(1_800_000_000_000_000))),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("license.lic")
    }

    pub(crate) fn open(&self) -> LicenceFile {
        let clock = Arc::new(self.clock.clone());
        LicenceFile::open(self.path(), self.key.verifying_key(), clock)
    }

    /// Returns a licence that ends in a day.
    pub(crate) fn licence(&self, licensee: &str) -> String {
        self.licence_ending(licensee, Some(self.clock.now() + DAY))
    }

    fn licence_ending(&self, licensee: &str, expires_at: Option<Timestamp>) -> String {
        let terms = Terms::new(licensee, Edition::Community, Timestamp::UNIX_EPOCH);
        self.key.issue(&Terms { expires_at, max_users: Some(7), ..terms }).unwrap()
    }

    pub(crate) fn write_file(&self, content: impl AsRef<[u8]>) {
        fs::write(self.path(), content).unwrap();
    }
}

/// Returns a licence that another issuer signed.
fn foreign() -> String {
    TestServer::new().licence("Somebody")
}

/// Returns the log output of a closure.
pub(crate) fn logged(what: impl FnOnce()) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
    tracing::subscriber::with_default(subscriber, what);
    let bytes = log.0.lock().unwrap();
    String::from_utf8(bytes.clone()).unwrap()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn licensee(file: &LicenceFile) -> String {
    match &*file.state().get() {
        LicenceState::Loaded(licence) => licence.licensee.clone(),
        other => format!("{other:?}"),
    }
}

fn refused(file: &LicenceFile) -> LicenceError {
    match &*file.state().get() {
        LicenceState::Refused(fault) => fault.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_valid_file_is_in_force_and_its_licensee_is_logged() {
    let bench = TestServer::new();
    bench.write_file(bench.licence("Somebody"));

    let log = logged(|| assert_eq!(bench.open().setup_state(), SetupState::Done));

    for part in ["Somebody", "Community", "Sync AiProxy E2EE", "2027-01-16T08:00:00Z"] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

#[test]
fn each_kind_of_bad_file_is_refused_with_a_distinct_code() {
    let bench = TestServer::new();
    let valid_licence = bench.licence("Somebody");
    let forged_licence = valid_licence.replace(".ey", ".eY");
    let later_version = valid_licence.replace("-v1.", "-v2.");
    let ended = bench.licence_ending("Somebody", Some(bench.clock.now()));

    for (content, code) in [
        (None, "SVC-LIC-001"),
        (Some(String::new()), "SVC-LIC-002"),
        (Some(valid_licence.chars().take(valid_licence.len() / 2).collect()), "SVC-LIC-002"),
        (Some("no licence".repeat(100_000)), "SVC-LIC-002"),
        (Some(foreign()), "SVC-LIC-003"),
        (Some(forged_licence), "SVC-LIC-004"),
        (Some(later_version), "SVC-LIC-005"),
        (Some(ended), "SVC-LIC-006"),
    ] {
        if let Some(content) = &content {
            bench.write_file(content);
        }

        let log = logged(|| assert_ne!(bench.open().setup_state(), SetupState::Done));

        let codes = ["1", "2", "3", "4", "5", "6", "9"].map(|it| format!("SVC-LIC-00{it}"));
        let logged_codes: Vec<_> = codes.iter().filter(|it| log.contains(it.as_str())).collect();
        assert_eq!(logged_codes, [code], "{log}");
    }
}

#[test]
fn a_folder_at_the_path_is_refused_and_does_not_prevent_the_start() {
    let bench = TestServer::new();
    fs::create_dir(bench.path()).unwrap();

    let file = bench.open();

    let reason = refused(&file).to_string();
    assert!(reason.contains("cannot be opened: it is not a file"), "{reason}");
}

#[test]
fn a_build_with_the_development_key_logs_a_warning() {
    let bench = TestServer::new();
    let clock = Arc::new(bench.clock.clone());

    let log = logged(|| {
        LicenceFile::open(bench.path(), VerifyingKey::built_in(), clock);
    });

    let development = VerifyingKey::built_in().is_development_key();
    assert_eq!(log.contains("SVC-LIC-007"), development, "{log}");
}

#[test]
fn a_build_with_a_production_key_logs_no_warning() {
    let log = logged(|| drop(TestServer::new().open()));

    assert!(!log.contains("SVC-LIC-007"), "{log}");
}

#[test]
fn a_replaced_file_takes_effect_at_the_next_check() {
    let bench = TestServer::new();
    bench.write_file(bench.licence("Before"));
    let file = bench.open();

    bench.write_file(bench.licence("Behind"));
    file.check();

    assert_eq!(licensee(&file), "Behind");
}

#[test]
fn a_new_file_takes_effect_at_the_next_check() {
    let bench = TestServer::new();
    let file = bench.open();

    bench.write_file(bench.licence("Somebody"));
    file.check();

    assert_eq!(file.setup_state(), SetupState::Done);
}

#[test]
fn a_forged_or_foreign_replacement_ends_the_licence_as_a_restart_would() {
    let bench = TestServer::new();
    for bad in [foreign(), bench.licence("Somebody").replace(".ey", ".eY")] {
        bench.write_file(bench.licence("Somebody"));
        let file = bench.open();

        bench.write_file(&bad);
        file.check();

        assert!(matches!(file.setup_state(), SetupState::Refused(_)), "{:?}", file.setup_state());
        assert_eq!(file.setup_state(), bench.open().setup_state());
    }
}

#[test]
fn a_partial_replacement_is_not_accepted_at_once() {
    let bench = TestServer::new();
    let previous_licence = bench.licence("Before");
    let behind = bench.licence("Behind");
    bench.write_file(&previous_licence);
    let file = bench.open();

    for length in [0, 10, 200, behind.len() - 1] {
        bench.write_file(&behind.as_bytes()[..length]);
        file.check();
        assert_eq!(licensee(&file), "Before", "{length}");
    }
    bench.write_file(&behind);
    file.check();

    assert_eq!(licensee(&file), "Behind");
}

#[test]
fn a_truncated_file_is_accepted_at_the_second_check() {
    let bench = TestServer::new();
    let valid_licence = bench.licence("Somebody");
    bench.write_file(&valid_licence);
    let file = bench.open();

    bench.write_file(&valid_licence.as_bytes()[..100]);
    file.check();
    assert_eq!(file.setup_state(), SetupState::Done);
    file.check();

    assert!(matches!(refused(&file), LicenceError::Truncated(_)));
}

#[test]
fn a_missing_file_is_accepted_at_the_second_check() {
    let bench = TestServer::new();
    bench.write_file(bench.licence("Somebody"));
    let file = bench.open();

    fs::remove_file(bench.path()).unwrap();
    file.check();
    assert_eq!(file.setup_state(), SetupState::Done);
    file.check();

    assert_eq!(file.setup_state(), SetupState::NoLicence);
}

#[test]
fn a_file_that_cannot_be_read_changes_nothing_and_is_logged_once() {
    let bench = TestServer::new();
    let valid_licence = bench.licence("Somebody");
    bench.write_file(&valid_licence);
    let file = bench.open();
    fs::remove_file(bench.path()).unwrap();
    fs::create_dir(bench.path()).unwrap();

    let log = logged(|| (0..3).for_each(|_| file.check()));

    assert_eq!(file.setup_state(), SetupState::Done);
    assert_eq!(log.matches("SVC-LIC-009").count(), 1, "{log}");
}

#[test]
fn an_unchanged_file_is_not_logged_again() {
    let bench = TestServer::new();
    for content in [bench.licence("Somebody"), foreign(), String::new()] {
        bench.write_file(content);
        let file = bench.open();

        let log = logged(|| (0..3).for_each(|_| file.check()));

        assert_eq!(log, "");
    }
}

#[test]
fn a_licence_that_ends_while_the_server_runs_is_logged_once() {
    let bench = TestServer::new();
    bench.write_file(bench.licence("Somebody"));
    let file = bench.open();
    let end = bench.clock.now() + DAY;

    bench.clock.advance(DAY);
    let log = logged(|| (0..3).for_each(|_| file.check()));

    assert_eq!(file.setup_state(), SetupState::Ended(end));
    assert_eq!(log.matches("SVC-LIC-006").count(), 1, "{log}");
}

#[test]
fn unknown_features_are_logged() {
    let bench = TestServer::new();
    let file = bench.open();
    let reading = LicenceReading::open(bench.licence("A"), &bench.key.verifying_key()).unwrap();

    let unknown_features = vec!["Telepathy\n".to_owned()];
    let log = logged(|| log::loaded(&LicenceReading { unknown_features, ..reading }));

    assert!(log.contains("SVC-LIC-008") && log.contains(r#"["Telepathy\n"]"#), "{log}");
    drop(file);
}

#[test]
fn seats_are_those_of_the_licence_and_none_without_one() {
    let bench = TestServer::new();
    let file = bench.open();
    let seats = LicenceSeats::new(file.state(), Arc::new(bench.clock.clone()));

    let previous_limit = seats.limit();
    file.store(bench.licence("Somebody").as_bytes()).unwrap();

    assert_eq!(previous_limit, Some(0));
    assert_eq!(seats.limit(), Some(7));
}
